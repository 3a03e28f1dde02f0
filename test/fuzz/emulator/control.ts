import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { damagedBytes, FUZZ_TIMEOUT_MS, hostileNames } from '../../support/fuzz.ts';
import { answered, ask, decode, encode, grpc, REGION_BYTES, shmKey, unharmed } from './subject.ts';

describe('control calls to the emulator over gRPC that are bad', () => {
  const calls: readonly (readonly [method: string, message: object])[] = [
    ['ServerMetadata', {}],
    ['ModelReady', { name: 'm', version: '1' }],
    ['ModelMetadata', { name: 'm' }],
    ['ModelConfig', { name: 'texts', version: '1' }],
    ['ModelStatistics', { name: 'm', version: '1' }],
    ['RepositoryIndex', { ready: true }],
    ['SystemSharedMemoryStatus', { name: 's' }],
    ['SystemSharedMemoryRegister', { name: 's', key: `/${shmKey}`, offset: 4096, byte_size: 4096 }],
    ['SystemSharedMemoryUnregister', { name: 's' }],
    ['CudaSharedMemoryRegister', { name: 's', raw_handle: Buffer.from('x'), byte_size: 8 }],
    [
      'TraceSetting',
      { model_name: 'm', settings: { trace_rate: { value: ['9'] }, trace_level: { value: ['TIMESTAMPS'] } } },
    ],
    ['LogSettings', { settings: { log_verbose_level: { uint32_param: 1 }, log_format: { string_param: 'ISO8601' } } }],
  ];
  const encoded = calls.map(([method, message]) => [method, encode(method, message)] as const);
  const number = fc.constantFrom(0, 1, 4095, 4096, 8192, 8193, '9223372036854775807', '18446744073709551615');
  const key = fc.constantFrom(
    `/${shmKey}`,
    shmKey,
    '/dev/null',
    '/',
    '',
    '..',
    'a/b',
    'a\0b',
    '/nothing-there',
    ...hostileNames,
  );
  const anyRegion = fc
    .record({ name: fc.constantFrom('s', 'r', ...hostileNames), key, offset: number, byte_size: number })
    .map((region) => ['SystemSharedMemoryRegister', encode('SystemSharedMemoryRegister', region)] as const);
  const settings = fc.dictionary(
    fc.constantFrom('trace_level', 'trace_rate', 'trace_count', 'log_frequency', 'trace_file', ...hostileNames),
    fc
      .array(fc.constantFrom('OFF', 'TIMESTAMPS', 'TENSORS', '', '-1', '+7', '4294967296', '1e3', 'x'), {
        maxLength: 3,
      })
      .map((value) => ({ value })),
    { maxKeys: 4 },
  );
  const anyTrace = fc
    .record({ settings, model_name: fc.constantFrom('', 'm', 'texts', ...hostileNames) })
    .map((change) => ['TraceSetting', encode('TraceSetting', change)] as const);
  const logValue = fc.constantFrom(
    { bool_param: false },
    { uint32_param: 2 ** 32 - 1 },
    { string_param: 'default' },
    { string_param: 'x' },
    {},
  );
  const anyLog = fc
    .dictionary(
      fc.constantFrom('log_file', 'log_info', 'log_error', 'log_verbose_level', 'log_format', ...hostileNames),
      logValue,
      { maxKeys: 3 },
    )
    .map((change) => ['LogSettings', encode('LogSettings', { settings: change })] as const);
  const damaged = fc
    .constantFrom(...encoded)
    .chain(([method, bytes]) => damagedBytes([bytes]).map((bad) => [method, bad] as const));

  it('are refused, or answered', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    await unharmed(fc.oneof(damaged, anyRegion, anyTrace, anyLog), async ([method, bytes]) => {
      const ended = await grpc(method, [bytes]);
      if (!answered(ended)) return false;
      const reply = decode(method, ended.messages[0] as Uint8Array);
      if (method === 'SystemSharedMemoryRegister') {
        const { regions } = (await ask('SystemSharedMemoryStatus', {})) as {
          regions: Record<string, { offset: number; byte_size: number }>;
        };
        for (const { offset, byte_size } of Object.values(regions)) {
          expect(offset % 4096).toBe(0);
          expect(offset + byte_size).toBeLessThanOrEqual(REGION_BYTES);
        }
        await ask('SystemSharedMemoryUnregister', {});
      } else if (method === 'TraceSetting') {
        const { settings: now } = reply as { settings: Record<string, { value: string[] }> };
        for (const name of ['trace_rate', 'trace_count', 'log_frequency'])
          expect(now[name]?.value[0]).toMatch(/^(-1|\d{1,10})$/);
        expect(now.trace_file?.value).toEqual(['/nowhere/trace']);
      } else if (method === 'LogSettings') {
        expect(Object.keys((reply as { settings: object }).settings)).toHaveLength(6);
      }
      return true;
    });
  });
});
