import { loadProfile } from '#emulator/profile/profiles.ts';
import type { EmulatorProfile } from '#emulator/profile/schema.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { sharedMemorySuite } from '../support/shared-memory-suite.ts';
import { loadStandInCuda, onGpu } from '../support/stand-in-cuda.ts';

const started = async (profile: EmulatorProfile) => {
  const { grpcUrl, httpUrl, close } = await startEmulator({ profile });
  const urls = { grpc: grpcUrl, http: httpUrl };
  return { client: connectGrpc(grpcUrl), urls, model: 'sleeper', answer: () => 0, streams: false, stop: close };
};

sharedMemorySuite('shared memory with the emulator', {
  memory: { kind: 'system' },
  start: () => started(loadProfile('sleeper')),
});

sharedMemorySuite("shared memory of the emulator's GPU", {
  memory: { kind: 'cuda', device: 0 },
  start: async () => {
    await loadStandInCuda();
    return started(onGpu(loadProfile('sleeper')));
  },
});
