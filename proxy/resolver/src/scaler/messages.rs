//! The messages of KEDA's contract `externalscaler.ExternalScaler`, as far as they are used. Field numbers are KEDA's.

use std::collections::HashMap;

use prost::Message;

#[derive(Clone, Message, PartialEq)]
pub(super) struct ScaledObjectRef {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) namespace: String,
    /// Metadata of the trigger.
    #[prost(map = "string, string", tag = "3")]
    pub(super) scaler_metadata: HashMap<String, String>,
}

#[derive(Clone, Copy, Message, PartialEq)]
pub(super) struct IsActiveResponse {
    #[prost(bool, tag = "1")]
    pub(super) result: bool,
}

#[derive(Clone, Message, PartialEq)]
pub(super) struct GetMetricSpecResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) metric_specs: Vec<MetricSpec>,
}

#[derive(Clone, Message, PartialEq)]
pub(super) struct MetricSpec {
    #[prost(string, tag = "1")]
    pub(super) metric_name: String,
    /// What versions before 2.17 read.
    #[prost(int64, tag = "2")]
    pub(super) target_size: i64,
    #[prost(double, tag = "3")]
    pub(super) target_size_float: f64,
}

#[derive(Clone, Message, PartialEq)]
pub(super) struct GetMetricsRequest {
    #[prost(message, optional, tag = "1")]
    pub(super) scaled_object_ref: Option<ScaledObjectRef>,
    #[prost(string, tag = "2")]
    pub(super) metric_name: String,
}

#[derive(Clone, Message, PartialEq)]
pub(super) struct GetMetricsResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) metric_values: Vec<MetricValue>,
}

#[derive(Clone, Message, PartialEq)]
#[expect(clippy::struct_field_names, reason = "the names are those of KEDA's contract")]
pub(super) struct MetricValue {
    #[prost(string, tag = "1")]
    pub(super) metric_name: String,
    /// What versions before 2.17 read, and all of them where the other is zero.
    #[prost(int64, tag = "2")]
    pub(super) metric_value: i64,
    #[prost(double, tag = "3")]
    pub(super) metric_value_float: f64,
}
