// A peer of Reeve's scaler: asks it what KEDA asks, with the client that KEDA itself has, and prints each answer as a line
// of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log"
	"os"
	"time"

	"github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// A connection of KEDA's balances over what the name resolves to; every call here waits no longer than this.
const within = 10 * time.Second

type answer struct {
	Active  *bool                         `json:"active,omitempty"`
	Specs   []*externalscaler.MetricSpec  `json:"specs,omitempty"`
	Values  []*externalscaler.MetricValue `json:"values,omitempty"`
	Code    string                        `json:"code,omitempty"`
	Message string                        `json:"message,omitempty"`
	Ended   bool                          `json:"ended,omitempty"`
}

func main() {
	log.SetFlags(0)
	address := flag.String("address", "", "where the scaler is")
	name := flag.String("name", "", "name of the object that KEDA asks for")
	namespace := flag.String("namespace", "", "its namespace")
	metadata := flag.String("metadata", "{}", "metadata of the trigger, as JSON")
	metric := flag.String("metric", "", "name of the metric, for metrics")
	flag.Parse()
	reference := &externalscaler.ScaledObjectRef{Name: *name, Namespace: *namespace}
	if err := json.Unmarshal([]byte(*metadata), &reference.ScalerMetadata); err != nil {
		log.Fatal(err)
	}
	connection, err := grpc.NewClient(*address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	client := externalscaler.NewExternalScalerClient(connection)
	if flag.Arg(0) == "watch" {
		watch(client, reference)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	print(ask(ctx, client, reference, flag.Arg(0), *metric))
}

func ask(ctx context.Context, client externalscaler.ExternalScalerClient, reference *externalscaler.ScaledObjectRef, what, metric string) answer {
	switch what {
	case "active":
		response, err := client.IsActive(ctx, reference)
		if err != nil {
			return failed(err)
		}
		return answer{Active: &response.Result}
	case "specs":
		response, err := client.GetMetricSpec(ctx, reference)
		if err != nil {
			return failed(err)
		}
		return answer{Specs: response.MetricSpecs}
	case "metrics":
		response, err := client.GetMetrics(ctx, &externalscaler.GetMetricsRequest{ScaledObjectRef: reference, MetricName: metric})
		if err != nil {
			return failed(err)
		}
		return answer{Values: response.MetricValues}
	case "stream-specs":
		stream, err := client.StreamMetricSpec(ctx, reference)
		if err != nil {
			return failed(err)
		}
		if _, err := stream.Recv(); err != nil {
			return failed(err)
		}
		return answer{}
	}
	log.Fatalf("usage: keda-peer -address A -name N -namespace NS active|specs|metrics|stream-specs|watch")
	return answer{}
}

// watch prints what is pushed until the scaler ends the stream, or this process is ended.
func watch(client externalscaler.ExternalScalerClient, reference *externalscaler.ScaledObjectRef) {
	stream, err := client.StreamIsActive(context.Background(), reference)
	for err == nil {
		var response *externalscaler.IsActiveResponse
		if response, err = stream.Recv(); err == nil {
			print(answer{Active: &response.Result})
		}
	}
	if errors.Is(err, io.EOF) {
		print(answer{Ended: true})
		return
	}
	print(failed(err))
}

func failed(err error) answer {
	reason := status.Convert(err)
	return answer{Code: reason.Code().String(), Message: reason.Message()}
}

func print(line answer) {
	if err := json.NewEncoder(os.Stdout).Encode(line); err != nil {
		log.Fatal(err)
	}
}
