import { loadProfile } from '../../src/emulator/profiles.ts';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { connectGrpc } from '../../src/triton/connect.ts';
import { sharedMemorySuite } from '../support/shared-memory-suite.ts';

sharedMemorySuite('shared memory with the emulator', {
  start: async () => {
    const { grpcUrl, httpUrl, close } = await startEmulator({ profile: loadProfile('sleeper') });
    const urls = { grpc: grpcUrl, http: httpUrl };
    return { client: connectGrpc(grpcUrl), urls, model: 'sleeper', answer: () => 0, streams: false, stop: close };
  },
});
