//! GRUB before every order of writing: between two flushes of the disk of /boot each write in turn
//! is the only one that has come, or the only one that has not.

use std::path::Path;

use crate::disk::{Disk, Op, Which};
use crate::grub;
use crate::recording::Recording;
use crate::shelf::Shelf;

type Write<'a> = (u64, &'a [u8]);

/// Looks for as long as there is time: how often, and what GRUB could not boot.
pub fn look(
    shelf: &Shelf,
    recording: &Recording,
    scratch: &Path,
    in_time: &dyn Fn() -> bool,
) -> (usize, Vec<String>) {
    let mut safe = recording.base[Which::Boot as usize].clone();
    let (mut window, mut looks, mut broken) = (Vec::new(), 0, Vec::new());
    for (at, op) in recording.log.iter().enumerate() {
        match op {
            Op::Write {
                disk: Which::Boot,
                offset,
                data,
            } => window.push((*offset, &data[..])),
            Op::Flush { disk: Which::Boot } => {
                for disk in orders(&safe, &window).filter(|_| in_time()) {
                    let number = shelf.lend(disk, None);
                    let seen = grub::look(&shelf.path(number), scratch);
                    shelf.take(number);
                    looks += 1;
                    broken.extend(seen.err().map(|why| {
                        let step = recording.told_at(at).act.name();
                        format!("in {step}, one write apart before operation {at}: {why}")
                    }));
                }
                put(&mut safe, window.drain(..));
            }
            _ => {}
        }
    }
    (looks, broken)
}

/// The disks that differ by one write from what was safe, or from what will be. One write alone has
/// no order.
fn orders<'a>(safe: &'a Disk, window: &'a [Write<'a>]) -> impl Iterator<Item = Disk> + 'a {
    let count = if window.len() > 1 { window.len() } else { 0 };
    let with = move |wanted: &dyn Fn(usize) -> bool| {
        let mut disk = safe.clone();
        let chosen = window.iter().enumerate().filter(|(at, _)| wanted(*at));
        put(&mut disk, chosen.map(|(_, write)| *write));
        disk
    };
    (0..count).flat_map(move |one| [with(&|at| at == one), with(&|at| at != one)])
}

fn put<'a>(disk: &mut Disk, writes: impl Iterator<Item = Write<'a>>) {
    writes.for_each(|(offset, data)| disk.write(offset, data));
}
