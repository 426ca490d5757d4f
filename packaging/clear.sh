#!/bin/sh
# Removes what former builds of a package have left in a folder, so that a pattern finds one file
# there: clear.sh PACKAGE FOLDER. All else stays.
set -eu
package=$1 folder=$2
# A version begins with a digit; what follows a hyphen else is another package's name.
rm -f "$folder/$package"_[0-9]*.deb "$folder/$package"-[0-9]*.rpm
