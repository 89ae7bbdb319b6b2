//! Metrics in the OpenMetrics text format, made from a report on each scrape.

use super::report::Report;
use crate::redis::Family;
use crate::stats::{BUCKETS, OUTCOMES};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;
use tidemark_replica::{PartitionStatus, PeerStatus};

/// The text of all metrics.
pub(super) fn text(report: Box<Report>) -> Result<String, fmt::Error> {
    let mut registry = Registry::with_prefix("tidemark");
    registry.register_collector(Box::new(Metrics(report)));
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry)?;
    Ok(text)
}

#[derive(Debug)]
struct Metrics(Box<Report>);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.commands(&mut encoder)?;
        self.latency(&mut encoder)?;
        self.totals(&mut encoder)?;
        self.findings(&mut encoder)?;
        self.partitions(&mut encoder)?;
        self.links(&mut encoder)
    }
}

/// One metric with labels.
struct Series<'a> {
    metric: MetricEncoder<'a>,
}

impl Series<'_> {
    fn put(&mut self, labels: &[(&str, &str)], value: u64, counter: bool) -> fmt::Result {
        let labels = labels.to_vec();
        let metric = self.metric.encode_family(&labels)?;
        if counter {
            ConstCounter::new(value).encode(metric)
        } else {
            ConstGauge::new(value as i64).encode(metric)
        }
    }
}

fn series<'a>(
    encoder: &'a mut DescriptorEncoder<'_>,
    name: &'a str,
    help: &str,
    kind: MetricType,
) -> Result<Series<'a>, fmt::Error> {
    Ok(Series { metric: encoder.encode_descriptor(name, help, None, kind)? })
}

/// Name, help and where the value is found in a `T`.
type Figure<T> = (&'static str, &'static str, fn(&T) -> u64);

impl Metrics {
    fn commands(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = series(encoder, "commands", "Commands by family and outcome", MetricType::Counter)?;
        for (family, counts) in Family::NAMES.iter().zip(&self.0.stats.commands) {
            for (outcome, count) in OUTCOMES.iter().zip(counts) {
                if *count > 0 || *outcome == "ok" {
                    out.put(&[("family", family), ("outcome", outcome)], *count, true)?;
                }
            }
        }
        Ok(())
    }

    fn latency(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let stats = &self.0.stats;
        let help = "From reading a command to writing its reply, without the network";
        let mut metric =
            encoder.encode_descriptor("command_latency_seconds", help, None, MetricType::Histogram)?;
        let bound = |place: usize| if place == BUCKETS { f64::MAX } else { (1_u64 << place) as f64 / 1e6 };
        let buckets: Vec<(f64, u64)> =
            stats.latency.iter().enumerate().map(|(place, count)| (bound(place), *count)).collect();
        let count = stats.latency.iter().sum();
        metric.encode_histogram::<[(&str, &str); 0]>(stats.latency_us as f64 / 1e6, count, &buckets, None)
    }

    fn totals(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let (report, stats, counters) = (&self.0, &self.0.stats, &self.0.counters);
        let blocked: u64 =
            report.host.partitions.iter().map(|partition| partition.protocol.blocked as u64).sum();
        let disowned = u64::from(report.host.disowned.is_some());
        let gauges = [
            ("clients", "Clients connected", report.clients as u64),
            ("log_bytes", "Bytes of disk that the log takes", report.host.log_bytes),
            ("blocked_operations", "Operations that wait inside the protocol", blocked),
            ("faults", "Faults injected at this node", report.faults_count()),
            ("writes_refused", "1 while writes are refused", u64::from(report.writes_refused.is_some())),
            ("log_disowned", "1 once a peer knows another log of this node", disowned),
            ("life", "The number of this start", report.host.life),
        ];
        let in_group = report.group.as_ref().map(|group| {
            [
                ("leads", "1 while this node leads its group", u64::from(group.role == "leader")),
                ("group_term", "The latest term of its group that this node knows", group.term),
                ("group_applied", "The last entry of its group that is applied here", group.applied),
                ("group_voters", "Nodes that vote in its group", group.voters.len() as u64),
            ]
        });
        for (name, help, value) in gauges.into_iter().chain(in_group.into_iter().flatten()) {
            series(encoder, name, help, MetricType::Gauge)?.put(&[], value, false)?;
        }
        let counters = [
            ("connections", "Connections accepted", stats.connections),
            ("connections_refused", "Connections refused", stats.refused),
            ("log_written_bytes", "Bytes written to the log since it began", report.host.log_written),
            ("operations_suspended", "Operations that had to wait for an answer", counters.suspended),
            ("turns", "Commits of the log", counters.batches),
            ("messages_received", "Messages from other nodes", counters.messages_in),
            ("stream_items_received", "Records and heartbeats received", counters.stream_items_in),
            ("stream_items_sent", "Records and heartbeats sent", counters.stream_items_out),
            ("streams_ahead", "Times a feed waited for this server's clock", counters.streams_ahead),
            (
                "message_bytes_dropped",
                "Bytes of messages dropped because a node takes too little",
                counters.message_bytes_dropped,
            ),
        ];
        for (name, help, value) in counters {
            series(encoder, name, help, MetricType::Counter)?.put(&[], value, true)?;
        }
        Ok(())
    }

    fn findings(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "1 for each finding: a condition that an operator should know";
        let mut out = series(encoder, "finding", help, MetricType::Gauge)?;
        for finding in &self.0.findings {
            out.put(&[("code", finding.code.name()), ("place", &finding.place)], 1, false)?;
        }
        Ok(())
    }

    fn partitions(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let figures: [Figure<PartitionStatus>; 5] = [
            ("keys", "Keys, tombstones included", |partition| partition.keys),
            ("versions", "Versions", |partition| partition.versions),
            ("bytes", "Bytes of keys and values", |partition| partition.bytes),
            ("uncollected_keys", "Keys that collection has to look at", |partition| partition.garbage),
            ("records_written", "Records written here", |partition| partition.written),
        ];
        for (name, help, value) in figures {
            let mut out = series(encoder, name, help, MetricType::Gauge)?;
            for partition in &self.0.host.partitions {
                out.put(&[("partition", &partition.partition.to_string())], value(partition), false)?;
            }
        }
        self.conflicts(encoder)?;
        self.lag(encoder)?;
        let figures: [Figure<PeerStatus>; 3] = [
            ("peer_behind_records", "Records that a peer has not confirmed", |peer| peer.behind),
            ("peer_received_records", "Records of a peer that are durable here", |peer| peer.received),
            ("peer_needs_seeding", "1 if the log that a peer needs was dropped", |peer| {
                u64::from(peer.needs_seeding)
            }),
        ];
        for (name, help, value) in figures {
            let mut out = series(encoder, name, help, MetricType::Gauge)?;
            for partition in &self.0.host.partitions {
                for peer in &partition.peers {
                    let region = &self.0.regions[peer.dc.index()];
                    let labels = [("partition", &*partition.partition.to_string()), ("peer", region)];
                    out.put(&labels, value(peer), false)?;
                }
            }
        }
        Ok(())
    }

    /// Nothing if the protocol does not look for conflicts.
    fn conflicts(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let partitions = &self.0.host.partitions;
        let detected =
            partitions.iter().filter_map(|partition| Some((partition, partition.protocol.conflicts?)));
        let mut detected = detected.peekable();
        if detected.peek().is_none() {
            return Ok(());
        }
        let help = "Versions that met one of their key which neither had seen, since the start";
        let mut out = series(encoder, "conflicts", help, MetricType::Counter)?;
        for (partition, count) in detected {
            out.put(&[("partition", &partition.partition.to_string())], count, true)?;
        }
        Ok(())
    }

    /// How far the stable vector lies behind the clock: how old a remote write is when it becomes visible.
    fn lag(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "How far what is stable lies behind this server's clock";
        let mut out = series(encoder, "stable_lag_microseconds", help, MetricType::Gauge)?;
        for partition in &self.0.host.partitions {
            for (dc, ts) in partition.protocol.stable.iter() {
                if let Some(region) = self.0.regions.get(dc.index()) {
                    let labels = [("partition", &*partition.partition.to_string()), ("origin", region)];
                    out.put(&labels, self.0.now_us.saturating_sub(ts.micros()), false)?;
                }
            }
        }
        Ok(())
    }

    fn links(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut out = series(encoder, "link_up", "1 if all connections of a link stand", MetricType::Gauge)?;
        for link in &self.0.links {
            out.put(&[("node", &link.node), ("region", &link.region)], u64::from(link.up), false)?;
        }
        let mut out = series(encoder, "link_queued_bytes", "Bytes that wait to be sent", MetricType::Gauge)?;
        for link in &self.0.links {
            out.put(&[("node", &link.node), ("region", &link.region)], link.queued_bytes as u64, false)?;
        }
        Ok(())
    }
}
