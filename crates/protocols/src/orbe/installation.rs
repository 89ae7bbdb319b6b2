//! 3: a version from elsewhere is installed once every row of its matrix is.

use super::{CHECKS_OTHER_ROWS, CHECKS_OWN_ROW, IN_ORDER, Meta, Orbe, Peer, RECEIVED_WAITS_AGAIN};
use tidemark_contract::matrix::Matrix;
use tidemark_contract::prelude::*;

/// What waits until all of a matrix is installed in this data centre.
pub(super) enum Dependent {
    Version(Key, Stamp),
    /// D6: a session, what it brought, and until when it waits.
    Arrival(Ticket, Matrix, Micros),
}

impl Orbe {
    /// 3: a version waits for the rows of its matrix.
    pub(super) fn wait(&mut self, stamp: Stamp, key: &Key, dm: Option<&Matrix>, here: PartitionId) {
        self.checks.arrived(stamp);
        let check = |row| if row == here { CHECKS_OWN_ROW.kept() } else { CHECKS_OTHER_ROWS.kept() };
        let rows = dm.map(|dm| dm.rows(check)).unwrap_or_default();
        self.checks.open(&rows, Dependent::Version(key.clone(), stamp));
    }

    /// Installs what all rows of its matrix are installed of, and goes on with what waited for that.
    pub(super) fn install(&mut self, cx: &mut Cx<'_, Self>) {
        let mut any = false;
        while let Some(dependent) = self.checks.ready() {
            match dependent {
                Dependent::Version(key, stamp) => {
                    self.checks.apply(stamp);
                    drop_matrix(&key, stamp, cx); // D4
                    any = true;
                    if !IN_ORDER.kept() {
                        self.st.stable.include(stamp);
                    }
                }
                Dependent::Arrival(ticket, dm, _) => cx.answer(ticket, Outcome::Adopted, dm),
            }
        }
        let vv = &mut self.st.stable;
        let installed = self.checks.applied(vv[cx.me.dc]);
        if !installed.le(vv) {
            vv.merge(&installed); // up to the first of each source that waits
            if any {
                self.st.ceiling.keep(vv.clone(), cx); // D3
            }
        }
        self.checks.send(Peer::Own, cx);
        self.read_slices(cx);
    }

    /// D3: what was received and not installed waits again. By their stamps: what a version waits for does so before it.
    pub(super) fn recover(&mut self, cx: &mut Cx<'_, Self>) {
        let (m, installed) = (cx.me.dc, self.st.stable.clone());
        let waits =
            |stamp: Stamp| stamp.origin != m && !installed.covers(stamp) && RECEIVED_WAITS_AGAIN.kept();
        let pick = |d: &Version<Meta>| (waits(d.stamp) || d.meta.is_some()).then(|| d.meta.clone());
        for (stamp, key, dm) in cx.store().pick(pick) {
            if waits(stamp) {
                self.wait(stamp, &key, dm.as_deref(), cx.me.partition);
            } else {
                drop_matrix(&key, stamp, cx); // D4
            }
        }
        self.install(cx);
    }
}

/// D4.
pub(super) fn drop_matrix(key: &Key, stamp: Stamp, cx: &mut Cx<'_, Orbe>) {
    cx.change_in_memory(key, stamp, |dm| *dm = None);
}
