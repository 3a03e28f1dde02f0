import { openGrpcJs } from '../../src/loadgen/transports/grpc-js.ts';
import { openUndici } from '../../src/loadgen/transports/undici.ts';
import { grpcSubject, httpSubject } from '../support/transport-subjects.ts';
import { describeTransport } from '../support/transport-suite.ts';

describeTransport(grpcSubject('gRPC through grpc-js', (url, timeoutMs) => openGrpcJs({ url, timeoutMs })));
describeTransport(httpSubject('HTTP through undici', (url, timeoutMs) => openUndici({ url, timeoutMs })));
