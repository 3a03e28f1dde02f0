/** A header that is sent, with a value that may be a secret. */
interface ValuedHeader {
  readonly name: string;
  readonly value: string;
}

/** A shorter value is hardly a secret, and would match ordinary words. */
const SHORTEST = 8;

/**
 * Returns a function that removes the values of headers from a text: a server may repeat them in its error. The credentials in `Bearer TOKEN` and
 * the like also count by themselves. Values of fewer than eight characters stay.
 */
export function secretsOut(headers: readonly ValuedHeader[]): (text: string) => string {
  const secrets = headers
    .flatMap(({ value }) => [value, value.slice(value.indexOf(' ') + 1)])
    .filter((secret) => secret.length >= SHORTEST)
    .sort((one, other) => other.length - one.length);
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text);
}
