import { describe, expect, it } from 'vitest';
import {
  HIDDEN,
  secretInArgument,
  secretsInUrl,
  secretsOut,
  shownArgument,
  shownCommand,
  shownUrl,
  veilOver,
  withoutSecrets,
} from '#base/secrets.ts';

const TOKEN = 'pa"ss/w+rd \u00e9 of=mine&?';

/** The text as JSON, an address and base64 say it, wherever it begins. */
const echoes = (text: string): readonly string[] => [
  ...[text, JSON.stringify(text), JSON.stringify(JSON.stringify(text)), JSON.stringify({ a: [text] })],
  ...[encodeURIComponent(text), encodeURIComponent(text).toLowerCase(), new URLSearchParams({ k: text }).toString()],
  ...['', 'x', 'xy', 'xyz', 'user:'].flatMap((before) =>
    (['base64', 'base64url'] as const).flatMap((encoding) =>
      ['', '!', '!!'].map((after) => Buffer.from(`${before}${text}${after}`).toString(encoding)),
    ),
  ),
];

/** The longest part of the echo that is left must not say the secret. */
const isIn = (secret: string, text: string): boolean =>
  text.includes(secret) || Buffer.from(text, 'base64').toString('utf8').includes(secret);

describe('secrets', () => {
  it('are taken out in every form', () => {
    const clear = withoutSecrets([TOKEN]);
    for (const echo of echoes(TOKEN)) {
      const left = clear(`before ${echo} after`);
      expect(left, echo).toContain(HIDDEN);
      expect(isIn(TOKEN, left)).toBe(false);
      expect(left.startsWith('before ')).toBe(true);
      expect(left.endsWith(' after')).toBe(true);
    }
  });

  it('of a basic login are the password, and both in base64', () => {
    const login = Buffer.from('me:correct horse').toString('base64');
    const clear = secretsOut([{ name: 'authorization', value: `Basic ${login}` }]);
    for (const text of [login, `Basic ${login}`, 'me:correct horse', 'correct horse']) expect(clear(text)).toBe(HIDDEN);
    expect(clear('short')).toBe('short');
  });

  it('are hidden in what a server says at any depth, and put back into what it is told', () => {
    const veil = veilOver([{ name: 'authorization', value: `Bearer ${TOKEN}` }]);
    const said = {
      name: TOKEN,
      [TOKEN]: { values: [1, null, true, ...echoes(TOKEN)], bytes: new Uint8Array([1]), map: new Map([['a', TOKEN]]) },
      number: 10n,
    };
    const hidden = veil.hide(said);
    const { map: _, ...others } = Object.values(hidden)[1] as { map: unknown };
    const texts = [JSON.stringify({ ...hidden, number: 0, [Object.keys(hidden)[1] as string]: others })];
    for (const text of texts)
      for (const echo of [TOKEN, JSON.stringify(TOKEN).slice(1, -1)]) expect(text).not.toContain(echo);
    expect(veil.reveal(hidden)).toEqual(said);
  });
});

describe('an address', () => {
  it.each([
    ['http://localhost:8002/metrics', 'http://localhost:8002/metrics', []],
    [
      'http://me:pass@host/m?token=abc&x=1#t',
      `http://host/m?token=${HIDDEN}&x=${HIDDEN}`,
      ['me:pass', 'me', 'pass', 'abc', '1'],
    ],
    ['TOKEN@host:8000/a@b', 'host:8000/a@b', ['TOKEN']],
    ['http://u:p@ss@host/', 'http://host/', ['u:p@ss', 'u', 'p@ss']],
    ['host/x?secretwithoutname', `host/x?${HIDDEN}`, ['secretwithoutname']],
    ['host/x?k=a?b@c', `host/x?k=${HIDDEN}`, ['a?b@c']],
    ['h/?a=%41%42', `h/?a=${HIDDEN}`, ['%41%42', 'AB']],
  ])('%s is shown as %s', (url, shown, secrets) => {
    expect(shownUrl(url)).toBe(shown);
    expect(secretsInUrl(url)).toEqual(expect.arrayContaining(secrets));
    for (const secret of secrets.filter((each) => each.length > 1)) expect(shown).not.toContain(secret);
  });
});

describe('a command that starts a server', () => {
  it.each([
    ['vllm serve m --port {port} {flags}', 'vllm serve m --port {port} {flags}'],
    ['vllm serve m --api-key abc --port {port}', 'vllm serve m --api-key … --port {port}'],
    ["vllm serve m --api-key='a b c' --max-tokens 5", 'vllm serve m --api-key=… --max-tokens 5'],
    ['vllm serve m --api-key "a b" {flags}', 'vllm serve m --api-key … {flags}'],
    ['env HF_TOKEN=abc OMP_NUM_THREADS=2 ./serve', 'env HF_TOKEN=… OMP_NUM_THREADS=2 ./serve'],
    [
      'docker run -e ANY=abc --env NAME=abc --env=OTHER=abc image',
      'docker run -e ANY=… --env NAME=… --env=OTHER=… image',
    ],
    ['docker run -e HF_TOKEN image', 'docker run -e HF_TOKEN image'],
    ['./serve --hf-token --port {port}', './serve --hf-token --port {port}'],
    [`./serve --json '{"a": "b c"}'`, `./serve --json '{"a": "b c"}'`],
  ])('%s', (line, shown) => {
    expect(shownCommand(line)).toBe(shown);
    expect(shownCommand(shown)).toBe(shown);
  });
});

describe('an option of a launched server', () => {
  it.each([
    ['--env=HF_TOKEN=abc=d', 'abc=d', '--env=HF_TOKEN=…'],
    ['--env=ANY=value', 'value', '--env=ANY=…'],
    ['--env=HF_TOKEN', null, '--env=HF_TOKEN'],
    ['--api-key=abc', 'abc', '--api-key=…'],
    ['--http-restricted-api=model-repository:k=v', 'model-repository:k=v', '--http-restricted-api=…'],
    ['--api-key-file=/run/key', null, '--api-key-file=/run/key'],
    ['--max-tokens=5', null, '--max-tokens=5'],
    ['--log-verbose=1', null, '--log-verbose=1'],
    ['--env=EMPTY=', null, '--env=EMPTY='],
  ])('%s', (argument, secret, shown) => {
    expect(secretInArgument(argument)).toBe(secret);
    expect(shownArgument(argument)).toBe(shown);
  });
});
