import { expect, it, onTestFinished } from 'vitest';
import { connectGrpc } from '#triton/control/connect.ts';
import { fp32Input, grpcInferClient } from '../support/infer-clients.ts';
import { makeModelRepository, startRealTriton } from '../support/real-triton.ts';

it('gives a real Triton a response cache, a rate limiter and settings of backends', async () => {
  const extraArgs = [
    '--cache-config=local,size=1048576',
    '--rate-limit=execution_count',
    '--backend-config=onnxruntime,default-max-batch-size=4',
  ];
  const { grpcUrl, stop } = await startRealTriton(await makeModelRepository(), { extraArgs, cpus: '0' });
  const [client, traffic] = [connectGrpc(grpcUrl), grpcInferClient(grpcUrl)];
  onTestFinished(async () => {
    await Promise.all([client.close(), traffic.close()]);
    await stop();
  });
  await client.load('sleeper');
  await client.load('sleeper', { ...(await client.modelConfig('sleeper')), response_cache: { enable: true } });
  for (let i = 0; i < 3; i++)
    expect(await traffic.infer('sleeper', [fp32Input([1, 8], 'INPUT')])).toMatchObject({ status: 0 });
  const [statistics] = await client.statistics('sleeper');
  expect(statistics).toMatchObject({ executionCount: 1, cacheHit: { count: 2 }, cacheMiss: { count: 1 } });
});

it('says what a real Triton says of an option that it does not take, and of a cache that it does not have', async () => {
  const repository = await makeModelRepository();
  const failing = (...extraArgs: string[]) => startRealTriton(repository, { extraArgs });
  await expect(failing('--nonsense=1')).rejects.toThrow(/unrecognized option '--nonsense=1'$/);
  await expect(failing('--rate-limit=bogus')).rejects.toThrow(/Bad option: "--rate-limit"\. \| invalid argument/);
  await expect(failing('--cache-config=nothere,size=1')).rejects.toThrow(/not live: .*'libtritoncache_nothere\.so'/);
});
