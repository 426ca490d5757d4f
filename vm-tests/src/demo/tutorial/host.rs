//! The second terminal: a shell on this machine that keeps variables from one block of the tutorial
//! to the next.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use rig::Rig;
use rig::guest::Output;
use testkit::programs;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// Paths on this machine that the page abbreviates.
#[derive(Debug)]
pub struct Host {
    tree: PathBuf,
    dir: PathBuf,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
    cache: PathBuf,
    target: PathBuf,
}

impl Host {
    /// A shell for this cluster that keeps its variables in `dir`.
    ///
    /// # Errors
    ///
    /// Fails when a path is unknown.
    pub fn new(rig: &Rig, dir: &Path) -> Result<Self> {
        let kubectl = rig.plane.program("kubectl");
        let cache = programs::cache()?;
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        fs::create_dir_all(dir)?;
        let _ = fs::remove_file(dir.join("kept"));
        Ok(Self {
            tree: fs::canonicalize(programs::home().join(".."))?,
            dir: fs::canonicalize(dir)?,
            kubeconfig: rig.plane.admin_kubeconfig(),
            kubectl: kubectl.parent().context("kubectl lies nowhere")?.to_owned(),
            target: target.unwrap_or_else(|| cache.join("target")),
            cache,
        })
    }

    /// Types these lines and answers a question if there is one. It prints each line before running
    /// it, and its output as it comes.
    ///
    /// # Errors
    ///
    /// Fails when there is no shell.
    pub async fn run(&self, lines: &[String], answer: Option<&str>) -> Result<Output> {
        let file = self.dir.join("typed.sh");
        fs::write(&file, self.script(lines))?;
        let mut child = self.shell(&file, answer.is_some())?;
        let mut typed = child.stdin.take();
        if let (Some(stdin), Some(answer)) = (&mut typed, answer) {
            stdin.write_all(format!("{answer}\n").as_bytes()).await?;
        }
        let text = printed(&mut child).await?;
        // The terminal stays open until the last line has ended.
        drop(typed);
        let code = child.wait().await?.code().unwrap_or(-1);
        Ok(Output { code, text })
    }

    /// kubectl careen asks nothing without a terminal, so a block with an answer gets one from
    /// script(1), one of Debian's essential packages.
    fn shell(&self, file: &Path, asked: bool) -> Result<Child> {
        let mut command = if asked {
            let call = format!("bash {}", quoted(file));
            let mut script = Command::new("script");
            script.args([
                "--quiet",
                "--return",
                "--flush",
                "--command",
                &call,
                "/dev/null",
            ]);
            script.stdin(Stdio::piped());
            script
        } else {
            let mut bash = Command::new("bash");
            bash.arg(file).stdin(Stdio::null());
            bash
        };
        command
            .current_dir(&self.tree)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot start a shell")
    }

    /// A shell that stops at the first line that fails, and saves its variables for the next block.
    fn script(&self, lines: &[String]) -> String {
        let kept = quoted(&self.dir.join("kept"));
        let lines = lines.iter().map(|line| shown(&self.filled_in(line)));
        let head = format!(
            "exec 2>&1\nshopt -s expand_aliases\n[ ! -e {kept} ] || . {kept}\ntrap '{{ export -p; alias -p; }} >{kept}' EXIT\nset -a -e\n"
        );
        head + &lines.collect::<String>()
    }

    /// Replaces the reader's placeholders with the paths of this machine.
    fn filled_in(&self, line: &str) -> String {
        let places = [
            (
                "…/vm-tests/out/shell/cluster/kubeconfigs/admin.conf",
                &self.kubeconfig,
            ),
            ("…/.cache/careen/kube-v1.36-…/bin", &self.kubectl),
            ("~/.cache/careen/target", &self.target),
            ("~/.cache/careen", &self.cache),
        ];
        places
            .into_iter()
            .fold(line.to_owned(), |line, (said, is)| {
                line.replace(said, &is.to_string_lossy())
            })
    }
}

/// The path as one word of a shell, also within single quotes. Our paths contain no quotes.
fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display())
}

/// Prints a line before it runs. Each line is a complete command.
fn shown(line: &str) -> String {
    let quoted = line.replace('\'', "'\\''");
    format!("printf '%s\\n' '$ {quoted}'\n{line}\n")
}

/// All output, shown as it comes.
async fn printed(child: &mut Child) -> Result<String> {
    let mut output = child.stdout.take().context("the shell has no output")?;
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    let mut screen = tokio::io::stdout();
    loop {
        let count = output.read(&mut piece).await?;
        if count == 0 {
            return Ok(String::from_utf8_lossy(&all).into_owned());
        }
        all.extend_from_slice(&piece[..count]);
        screen.write_all(&piece[..count]).await?;
        screen.flush().await?;
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::{self, Place};
    use super::*;

    fn host(dir: &Path) -> Host {
        Host {
            tree: dir.to_owned(),
            dir: dir.to_owned(),
            kubeconfig: "/k/admin.conf".into(),
            kubectl: "/k/bin".into(),
            cache: "/c".into(),
            target: "/t".into(),
        }
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn what_was_set_in_one_block_holds_in_the_next() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let host = host(dir.path());
        let set = lines(
            "GOOD=$(echo 'a b')\nexport OTHER=…/.cache/careen/kube-v1.36-…/bin\nalias k=echo\nk now",
        );
        let first = host.run(&set, None).await?;
        assert_eq!(first.code, 0, "{}", first.text);
        let next = host.run(&lines("k \"$GOOD\" $OTHER"), None).await?;
        assert!(next.text.ends_with("a b /k/bin\n"), "{}", next.text);
        Ok(())
    }

    #[tokio::test]
    async fn a_block_ends_at_the_line_that_fails_with_its_exit_code() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let block = lines("echo before\n(exit 7)\necho after");
        let output = host(dir.path()).run(&block, None).await?;
        assert_eq!(output.code, 7);
        assert!(output.text.contains("\nbefore\n"), "{}", output.text);
        assert!(!output.text.contains("\nafter\n"), "{}", output.text);
        Ok(())
    }

    #[tokio::test]
    async fn a_question_is_asked_on_a_terminal_and_answered_there() -> Result<()> {
        let dir = tempfile::tempdir()?;
        let block = lines("[ -t 0 ] && read -r said\n[ \"$said\" = yes ]\n(exit 3)");
        let output = host(dir.path()).run(&block, Some("yes")).await?;
        assert_eq!(output.code, 3, "{}", output.text);
        Ok(())
    }

    #[test]
    fn no_path_of_the_page_is_left_open() -> Result<()> {
        let host = host(Path::new("/"));
        let blocks = page::blocks(&page::text()?)?;
        let typed = blocks
            .iter()
            .filter(|block| block.mark.place == Place::Host);
        for line in typed.flat_map(|block| &block.typed) {
            let line = host.filled_in(line);
            assert!(!line.contains('…') && !line.contains('~'), "{line}");
        }
        Ok(())
    }

    #[test]
    fn host_paths_replace_the_placeholders_of_the_page() {
        let host = host(Path::new("/"));
        let line = "PATH=…/.cache/careen/kube-v1.36-…/bin:~/.cache/careen/target/debug:$PATH";
        assert_eq!(host.filled_in(line), "PATH=/k/bin:/t/debug:$PATH");
    }
}
