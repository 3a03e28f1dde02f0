import { openGrpcJs } from '#loadgen/transports/grpc-js.ts';
import { openGrpcLean } from '#loadgen/transports/grpc-lean.ts';
import { openGrpcStream } from '#loadgen/transports/grpc-stream.ts';
import { openHttpLean } from '#loadgen/transports/http-lean.ts';
import { openUndici } from '#loadgen/transports/undici.ts';
import { grpcSubject, httpSubject } from '../support/transport-subjects.ts';
import { describeTransport } from '../support/transport-suite.ts';

describeTransport(grpcSubject('gRPC through grpc-js', (url, timeoutMs) => openGrpcJs({ url, timeoutMs })));
describeTransport(grpcSubject('gRPC on our own client', (url, timeoutMs) => openGrpcLean({ url, timeoutMs })));
describeTransport(
  grpcSubject('gRPC on streams of our own client', (url, timeoutMs) => openGrpcStream({ url, timeoutMs })),
);
describeTransport(httpSubject('HTTP through undici', (url, timeoutMs) => openUndici({ url, timeoutMs })));
describeTransport(httpSubject('HTTP on our own client', (url, timeoutMs) => openHttpLean({ url, timeoutMs })));
