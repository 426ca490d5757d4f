//! The limits that a service's processes inherit.

use zbus::Result;
use zbus::proxy::CacheProperties;

use crate::bus::{Bus, is_not_loaded};
use crate::proxies::ServiceUnitProxy;

impl Bus {
    /// The limits of this service that its containers or their helpers meet, by systemd's names.
    /// `u64::MAX` is `infinity`. None if the unit is not loaded.
    ///
    /// # Errors
    /// The bus is down, or systemd does not answer.
    pub async fn limits(&self, unit: &str) -> Result<Vec<(&'static str, u64)>> {
        let systemd = self.manager().await?;
        let path = match self.limited(systemd.get_unit(unit)).await {
            Ok(path) => path,
            Err(error) if is_not_loaded(&error) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let service = ServiceUnitProxy::builder(&self.connection).path(path);
        let service = service.cache_properties(CacheProperties::No).build();
        let service = self.limited(service).await?;
        Ok(vec![
            ("LimitNOFILE", self.limited(service.open_files()).await?),
            (
                "LimitNOFILESoft",
                self.limited(service.open_files_soft()).await?,
            ),
            ("LimitMEMLOCK", self.limited(service.locked_memory()).await?),
            ("TasksMax", self.limited(service.tasks()).await?),
        ])
    }
}
