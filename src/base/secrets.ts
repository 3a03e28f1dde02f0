/** A header that is sent, whose value may be a secret. */
interface ValuedHeader {
  readonly name: string;
  readonly value: string;
}

/** What is shorter is no secret worth the name, and would be found in words that are none. */
const SHORTEST = 8;

/**
 * Takes the values of headers out of a text: a server may repeat in its error what it was sent. Of `Bearer TOKEN` and the
 * like the credentials count by themselves too. Values of fewer than eight characters stay.
 */
export function secretsOut(headers: readonly ValuedHeader[]): (text: string) => string {
  const secrets = headers
    .flatMap(({ value }) => [value, value.slice(value.indexOf(' ') + 1)])
    .filter((secret) => secret.length >= SHORTEST)
    .sort((one, other) => other.length - one.length);
  return (text) => secrets.reduce((left, secret) => left.replaceAll(secret, '…'), text);
}
