import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { toProfileWords } from '#cli/hey.ts';
import { runCli } from '../support/cli.ts';
import { cliProgram } from '../support/cli-program.ts';

describe("hey's flags", () => {
  it.each([
    ['-n 1000 -c 10 http://a/', '-u http://a/ --concurrency-range 10 --request-count 1000'],
    ['http://a/', '-u http://a/ --concurrency-range 50 --request-count 200'],
    ['-z 90s -c=4 http://a/', '-u http://a/ --concurrency-range 4 -p 90000 -r 1'],
    ['-q 5 -c 10 http://a/', '-u http://a/ --concurrency-range 10 --request-rate-range 50 --request-count 200'],
    [
      '-m POST -D f --disable-keepalive -disable-compression -cpus 2 http://a/',
      '-u http://a/ --concurrency-range 50 --request-count 200 --method POST --body-file f --disable-keepalive --client-threads 2',
    ],
    [
      '-H a:b -T x/y -host h -t 5 -a u:p http://a/',
      '-u http://a/ --concurrency-range 50 --request-count 200 -H a:b -H Content-Type:_x/y -H Host:_h --request-timeout 5 --basic-auth u:p',
    ],
  ])('%s', (args, words) => {
    const expected = words.split(' ').map((word) => word.replace('_', ' '));
    expect(toProfileWords(args.split(' '))).toEqual(['profile', '--service-kind', 'http', ...expected]);
  });

  it.each([
    ['', 'one address is needed'],
    ['http://a/ http://b/', 'one address is needed'],
    ['-o csv http://a/', '-o is not supported'],
    ['-k http://a/ 1', 'hey has no flag -k'],
    ['-z soon http://a/', "-z: 'soon' is not a duration"],
    ['-c many http://a/', "-c: 'many' is not a whole number"],
    ['http://a/ -n', '-n needs a value'],
    ['-toString 1 http://a/', 'hey has no flag -toString'],
  ])('are refused by name: %s', (args, message) => {
    expect(() => toProfileWords(args.split(' ').filter((word) => word !== ''))).toThrow(message);
  });
});

it('a line of hey sends what it says', { timeout: 60_000 }, async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    request.on('data', (part) => seen.push(`${request.method} ${request.headers['content-type']} ${part}`));
    request.on('end', () => response.end('ok'));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/infer`;
  const args = ['-n', '40', '-c', '4', '-m', 'POST', '-T', 'application/json', '-d', '{"x":1}', url];
  const { code, stdout, stderr } = await runCli(args, { program: cliProgram('hey-main') });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/\[200\]\s+40 responses/);
  expect(seen).toHaveLength(40);
  expect(new Set(seen)).toEqual(new Set(['POST application/json {"x":1}']));
});
