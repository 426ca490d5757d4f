//! Which signals show that a program is broken.

use nix::sys::signal::Signal;

/// Signals by which a program ends that is itself broken, whatever its configuration is. SIGBUS is
/// none of them: the kernel sends it for a page of the program that the disk does not deliver, or
/// whose memory is faulty.
const CRASHES: [Signal; 6] = [
    Signal::SIGABRT,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_that_fails_under_a_program_is_no_crash_of_it() {
        assert!(is_a_crash(Signal::SIGSEGV as i32));
        assert!(!is_a_crash(Signal::SIGBUS as i32));
        assert!(!is_a_crash(Signal::SIGKILL as i32));
    }
}
