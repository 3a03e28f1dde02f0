import { describe, expect, it } from 'vitest';
import { isLoopback } from '#loadgen/loopback.ts';

describe('a loopback address', () => {
  it.each([
    'localhost',
    'LOCALHOST:8000',
    'localhost:8001',
    'http://localhost:8000/v2',
    'grpc://127.0.0.1:8001',
    '127.1.2.3',
    '::1',
    '[::1]',
    '[::1]:8001',
    'https://[::1]/',
  ])('is %s', (address) => {
    expect(isLoopback(address)).toBe(true);
  });

  it.each([
    '',
    'gpu-1',
    '0.0.0.0:8001',
    '10.127.0.0.1',
    'localhost.example:8001',
    '127.0.0.1.example',
    'example/localhost',
    'http://example:80/localhost:8001',
    '[::2]:8001',
    '::11',
  ])('is not %s', (address) => {
    expect(isLoopback(address)).toBe(false);
  });
});
