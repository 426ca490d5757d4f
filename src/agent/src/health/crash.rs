//! Which signals show that a program is broken.

use nix::sys::signal::Signal;

/// Signals by which a program ends that is itself broken, whatever its configuration is.
const CRASHES: [Signal; 7] = [
    Signal::SIGABRT,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGSEGV,
    Signal::SIGSYS,
    Signal::SIGTRAP,
];

/// Whether a program that this signal has ended is itself broken.
pub fn is_a_crash(signal: i32) -> bool {
    Signal::try_from(signal).is_ok_and(|signal| CRASHES.contains(&signal))
}
