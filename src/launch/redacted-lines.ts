import { Transform } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { withoutSecrets } from '#base/secrets.ts';

/** A line that is longer is passed on in parts. */
const LONGEST_LINE = 64 * 2 ** 10;

/** Returns a stream that passes on lines without secrets. */
export function redactedLines(secrets: readonly string[]): Transform {
  const clear = withoutSecrets(secrets);
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      rest += decoder.write(chunk);
      const end = rest.length > LONGEST_LINE ? rest.length : rest.lastIndexOf('\n') + 1;
      const lines = rest.slice(0, end);
      rest = rest.slice(end);
      done(null, clear(lines));
    },
    flush: (done) => done(null, clear(rest + decoder.end())),
  });
}
