import { inject } from 'vitest';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import { tritonClientSuite } from '../support/triton-client-suite.ts';

const { grpcUrl, httpUrl } = inject('realServer');
const model = 'sleeper';

tritonClientSuite('the gRPC client on a real Triton', {
  start: async () => ({ client: connectGrpc(grpcUrl), twin: connectHttp(httpUrl), httpUrl, model }),
});

tritonClientSuite('the HTTP client on a real Triton', {
  start: async () => ({ client: connectHttp(httpUrl), twin: connectGrpc(grpcUrl), httpUrl, model }),
});
