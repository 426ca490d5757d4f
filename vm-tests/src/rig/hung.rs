//! A disk that answers no more, as one does whose firmware hangs: the system stands, and no error comes either.

use anyhow::{Context, Result};

use super::Rig;

impl Rig {
    /// Nothing that is asked of the disk comes back from here on.
    ///
    /// # Errors
    /// When the power is off, or QEMU refuses.
    pub async fn hang_disk(&mut self) -> Result<()> {
        self.disk_answers(false).await?;
        self.progress.step("the disk answers no more");
        Ok(())
    }

    /// The disk answers again, and does what it was asked for in the meantime.
    ///
    /// # Errors
    /// When the power is off, or QEMU refuses.
    pub async fn let_disk_answer(&mut self) -> Result<()> {
        self.disk_answers(true).await?;
        self.progress.step("the disk answers again");
        Ok(())
    }

    async fn disk_answers(&mut self, answers: bool) -> Result<()> {
        let running = self.power.as_mut().context("the power is off")?;
        running.disk_answers(answers).await
    }
}
