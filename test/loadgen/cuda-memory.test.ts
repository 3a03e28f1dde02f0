import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TrituneError } from '#base/errors.ts';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { openCuda } from '#loadgen/shared-memory/cuda-driver.ts';
import { openRegions } from '#loadgen/shared-memory/open-regions.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';
import type { CudaMemoryRegion, TritonClient } from '#triton/types.ts';
import { sharedInputs } from '../support/shared-inputs.ts';
import { ownObjects } from '../support/shared-memory-suite.ts';
import { loadStandInCuda, onGpu } from '../support/stand-in-cuda.ts';

/** Of the stand-in, which has 256 MiB in all. */
const MIB = 2 ** 20;
const sleeper = loadProfile('sleeper');
const orphan = resolve(import.meta.dirname, '../support/orphan-regions.ts');

/** A GPU's memory goes with its process; the stand-in's would stay. */
const forget = (pid?: number): void => {
  for (const name of ownObjects(pid)) rmSync(`/dev/shm/${name}`);
};

let driverFolder = '';
beforeAll(async () => {
  driverFolder = await loadStandInCuda();
});

describe("a CUDA device's memory", () => {
  it('keeps what is written to it, and gives it back from anywhere in a block', () => {
    const cuda = openCuda(0);
    const address = cuda.allocate(10);
    cuda.write(address, Buffer.from('0123456789'));
    cuda.write(address + 4n, new Uint8Array());
    cuda.write(address + 4n, Buffer.from('xyz').subarray(1));
    expect(cuda.read(address, 10).toString()).toBe('0123yz6789');
    expect(cuda.read(address + 8n, 2).toString()).toBe('89');
    cuda.free(address);
    expect(() => cuda.read(address, 1)).toThrow('cuMemcpyDtoH_v2 failed: CUDA_ERROR_INVALID_VALUE');
  });

  it('has blocks that share nothing, each with its handle', () => {
    const cuda = openCuda(0);
    const [one, two] = [cuda.allocate(1), cuda.allocate(3 * MIB)];
    const handles = [one, two].map((address) => cuda.exportHandle(address));
    expect(handles.map((handle) => handle.byteLength)).toEqual([64, 64]);
    expect(handles[0]).not.toEqual(handles[1]);
    // Whole blocks of two MiB.
    expect(cuda.read(one, 2 * MIB)).toHaveLength(2 * MIB);
    expect(cuda.read(two, 4 * MIB)).toHaveLength(4 * MIB);
    expect(() => cuda.exportHandle(one + 1n)).toThrow('CUDA_ERROR_INVALID_VALUE');
    for (const address of [one, two]) cuda.free(address);
    expect(ownObjects()).toEqual([]);
  });

  it('says by the name of the driver what goes wrong, and what to do', () => {
    expect(() => openCuda(0).allocate(300 * MIB)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: "the CUDA driver's cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY",
        hint: expect.stringContaining('--shared-memory system'),
      }),
    );
    expect(() => openCuda(1)).toThrow('cuDeviceGet failed: CUDA_ERROR_INVALID_DEVICE');
  });
});

describe('regions in a GPU', () => {
  let emulator: Awaited<ReturnType<typeof startEmulator>>;
  let [overGrpc, overHttp] = [] as unknown as [TritonClient, TritonClient];
  beforeAll(async () => {
    emulator = await startEmulator({ profile: onGpu(sleeper) });
    [overGrpc, overHttp] = [connectGrpc(emulator.grpcUrl), connectHttp(emulator.httpUrl)];
  });
  afterAll(async () => {
    await Promise.all([overGrpc.close(), overHttp.close()]);
    await emulator.close();
  });
  const planOf = (...values: Uint8Array[]) => {
    const inputs = values.map((raw) => ({ name: 'IN', datatype: 'UINT8', shape: [raw.length], raw }));
    const each = inputs.map((input) => ({ model: 'm', version: '', batch: 1, inputs: [input] }));
    const requests = { model: 'm', version: '', batch: 1, requests: each };
    return {
      requests,
      inputs: [sharedInputs(requests)],
      config: { output: [{ name: 'OUT', data_type: 'TYPE_FP32', dims: [4] }] },
      maxInFlight: 4,
      unknownOutputBytes: 100,
      memory: { kind: 'cuda' as const, device: 0 },
    };
  };

  it('are registered, listed and let go of by name, over both protocols', async () => {
    const cuda = openCuda(0);
    const address = cuda.allocate(100);
    for (const [client, twin] of [
      [overGrpc, overHttp],
      [overHttp, overGrpc],
    ] as const) {
      const region: CudaMemoryRegion = { name: 'frames', deviceId: 0, byteSize: 100 };
      await client.registerCudaMemory(region, cuda.exportHandle(address));
      expect(await twin.cudaMemoryRegions()).toEqual([region]);
      expect(await twin.sharedMemoryRegions()).toEqual([]);
      await expect(twin.registerCudaMemory(region, cuda.exportHandle(address))).rejects.toThrow('already in manager');
      // Only calls about memory of the same kind reach it.
      expect(await twin.unregisterSharedMemory('frames')).toBe(true);
      expect(await client.cudaMemoryRegions()).toEqual([region]);
      expect(await twin.unregisterCudaMemory('frames')).toBe(true);
      expect(await client.cudaMemoryRegions()).toEqual([]);
      await expect(client.unregisterCudaMemory('')).rejects.toThrow(RangeError);
    }
    cuda.free(address);
  });

  it('hold each input, the empty one too, and room for outputs; all of it is free after the close', async () => {
    const values = [Uint8Array.of(1, 2, 3), new Uint8Array(), Uint8Array.of(4)];
    const plan = planOf(...values);
    const regions = await openRegions(overGrpc, plan);
    expect((await overGrpc.cudaMemoryRegions()).map(({ name }) => name)).toContain(regions.outputs.region);
    expect(regions.outputs).toMatchObject({ memory: { kind: 'cuda', device: 0 }, slots: 20 });
    const places = regions.placed(plan.requests).requests.map(({ inputs }) => inputs[0]?.shared);
    expect(places).toMatchObject([{ offset: 0, byteSize: 3 }, undefined, { offset: 64, byteSize: 1 }]);
    await regions.close();
    expect(await overGrpc.cudaMemoryRegions()).toEqual([]);
    expect(ownObjects()).toEqual([]);
  });

  it('are gone when there is no room for the second one, or the server takes none', async () => {
    const much = { ...planOf(Uint8Array.of(1)), maxInFlight: 10 * MIB };
    await expect(openRegions(overGrpc, much)).rejects.toThrow('CUDA_ERROR_OUT_OF_MEMORY');
    const withoutGpu = await startEmulator({ profile: sleeper });
    const client = connectGrpc(withoutGpu.grpcUrl);
    await expect(openRegions(client, planOf(Uint8Array.of(1)))).rejects.toMatchObject({
      code: 'SERVER_FAILED',
      message: expect.stringContaining('failed to register shared memory region: invalid args'),
      hint: expect.stringContaining('the same GPU'),
    });
    await client.close();
    await withoutGpu.close();
    expect(await overGrpc.cudaMemoryRegions()).toEqual([]);
    expect(ownObjects()).toEqual([]);
  });

  it('of a killed process are let go of by the next run, and those of a living one are not', async () => {
    const child = spawn(process.execPath, [orphan, emulator.grpcUrl, 'sleeper', 'cuda'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, LD_LIBRARY_PATH: driverFolder },
    });
    await once(child.stdout, 'data');
    const ofChild = async () =>
      (await overGrpc.cudaMemoryRegions()).filter(({ name }) => name.includes(`-${child.pid}-`));
    const alive = await openRegions(overGrpc, planOf(Uint8Array.of(1)));
    expect(await ofChild()).toHaveLength(2);
    await alive.close();
    child.kill('SIGKILL');
    await once(child, 'close');
    expect(await ofChild()).toHaveLength(2);
    const next = await openRegions(overGrpc, planOf(Uint8Array.of(1)));
    expect(await ofChild()).toEqual([]);
    await next.close();
    forget(child.pid);
  });

  it('stay allocated as long as the server may have them open', async () => {
    const gone = new TrituneError('SERVER_UNREACHABLE', 'no answer', 'none');
    const silent: TritonClient = { ...overGrpc, unregisterCudaMemory: () => Promise.reject(gone) };
    const regions = await openRegions(silent, planOf(Uint8Array.of(1)));
    await regions.close();
    expect(ownObjects()).toHaveLength(2);
    for (const { name } of await overGrpc.cudaMemoryRegions()) await overGrpc.unregisterCudaMemory(name);
    forget();
  });
});
