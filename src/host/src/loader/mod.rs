//! The boot loader: what can boot an entry once, and how the next boot is chosen.
//!
//! Callers say what they want ([`Aim`]). Only this module knows how a loader stores it, and what a
//! loader needs so that it forgets the entry before the entry boots.

pub mod grub;
mod others;
mod trial;

pub use trial::{TRIAL_ARGUMENTS, arguments as trial_arguments};

use std::path::Path;

use upgrade::{Deployment, OneShot, Reason};

use crate::Places;
use crate::error::Result;

/// A loader that can boot an entry once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loader {
    /// GRUB with a menu by careen-grub.
    CareenGrub,
    /// GRUB with a menu by grub-mkconfig and libostree's 15_ostree.
    StockGrub,
}

/// What the next boot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim<'a> {
    /// This deployment once, on trial. The boots after that are the default's.
    Trial(&'a Deployment),
    /// The default.
    Default,
}

impl Loader {
    /// The loader of this machine, by the menu that it reads. A menu that nobody can read counts as
    /// careen-grub's, which writes the next one; [`fitness`] names what is wrong with the file.
    #[must_use]
    pub fn of(places: &Places) -> Self {
        let menu = grub::menu::configuration(places);
        if menu.is_ok_and(|text| !grub::generate::is_ours(&text)) {
            Self::StockGrub
        } else {
            Self::CareenGrub
        }
    }

    /// The loader that reads the next menu that libostree writes. `ours` says whether libostree
    /// runs careen-grub for it. Nothing on a machine without GRUB.
    #[must_use]
    pub fn of_the_next_menu(places: &Places, ours: bool) -> Option<Self> {
        if ours {
            return Some(Self::CareenGrub);
        }
        grub::menu::is_there(places).then_some(Self::StockGrub)
    }

    /// Whether [`TRIAL_ARGUMENTS`] must be in the boot entry of a deployment, from the deploy to
    /// the blessing. A menu by careen-grub adds them itself to what a one-shot has chosen.
    #[must_use]
    pub const fn has_trial_in_the_entry(self) -> bool {
        match self {
            Self::CareenGrub => false,
            Self::StockGrub => true,
        }
    }

    fn fitness(self, places: &Places, kernel: &Path) -> std::result::Result<(), Reason> {
        match self {
            Self::CareenGrub | Self::StockGrub => grub::fitness::check(places, kernel),
        }
    }

    fn arm(self, places: &Places, deployment: &Deployment) -> Result<()> {
        match self {
            Self::CareenGrub | Self::StockGrub => grub::arm(places, deployment),
        }
    }
}

/// Checks whether the loader of this machine can boot an entry just once. Ask before anything is
/// touched: a loader that cannot clear its one-shot boots a bad trial for ever. `kernel` is the
/// folder that holds `sys` and `proc`: `/` on a node.
///
/// # Errors
/// [`Reason::LoaderUnfit`], which names what is wrong and what is accepted.
pub fn fitness(places: &Places, kernel: &Path) -> std::result::Result<(), Reason> {
    if let Some(name) = others::unsupported(places, kernel) {
        let detail = format!("{name} boots this machine; accepted is GRUB");
        return Err(Reason::LoaderUnfit { detail });
    }
    Loader::of(places).fitness(places, kernel)
}

/// Whether an entry is set to boot once. It reads no menu: an initramfs may not see one, and a disk
/// that fails may not give it. So it covers where each [`Loader`] stores its one-shot.
#[must_use]
pub fn one_shot(places: &Places) -> OneShot {
    grub::env::one_shot(&places.grubenv())
}

/// Sets what the next boot is, and waits until that is on the disk. [`Aim::Default`] reads no menu,
/// as [`one_shot`].
///
/// # Errors
/// When it is not on the disk. For a trial also [`Reason::TargetVanished`] when the menu has no
/// entry of the deployment, and [`Reason::LoaderUnfit`] when its boot would be no trial or no
/// default would follow it.
#[inline]
pub fn aim(places: &Places, aim: Aim<'_>) -> Result<()> {
    match aim {
        Aim::Trial(deployment) => Loader::of(places).arm(places, deployment),
        Aim::Default => grub::env::write_next_entry(&places.grubenv(), None),
    }
}
