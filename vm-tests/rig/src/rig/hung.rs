//! A disk that stops answering, as one with hung firmware does. Requests wait, and no error is
//! returned.

use anyhow::{Context, Result};

use super::Rig;

impl Rig {
    /// Stops the disk: no request to it returns from now on.
    ///
    /// # Errors
    ///
    /// Fails when the power is off, or QEMU refuses.
    pub async fn hang_disk(&mut self) -> Result<()> {
        self.disk_answers(false).await?;
        self.progress.step("the disk answers no more");
        Ok(())
    }

    /// Lets the disk answer again. It also completes the requests that were made meanwhile.
    ///
    /// # Errors
    ///
    /// Fails when the power is off, or QEMU refuses.
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
