use std::process::{Command, Stdio};

use upgrade::Reason;

use crate::fetch::wait_for;
use crate::image::Image;
use crate::world::world;

#[test]
fn who_holds_the_lock_is_named_when_the_wait_is_over() {
    let world = world();
    let commit = world.fetched(&Image::new(2));
    let lock = world.root().join("ostree/lock");
    // flock(1) and libostree exclude one another through libostree's second lock, which is flock's kind.
    let hold = "exec 9<>\"$0\"; flock -x 9; echo held; exec sleep 60 <&9";
    let mut holder = Command::new("sh").arg("-c").arg(hold).arg(&lock).stdout(Stdio::piped()).spawn().unwrap();
    let mut word = [0; 5];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut word).unwrap();
    wait_for(|| std::fs::read_to_string(format!("/proc/{}/comm", holder.id())).is_ok_and(|name| name == "sleep\n"));
    let reason = world.run(&["--lock-seconds", "1", "deploy", "--commit", commit.as_str()]).reason();
    holder.kill().unwrap();
    holder.wait().unwrap();
    let expected = Reason::LockHeld { holder: format!("sleep (pid {})", holder.id()), seconds: 1 };
    assert_eq!(reason, expected);
    world.verb("deploy", &commit).deployed();
}
