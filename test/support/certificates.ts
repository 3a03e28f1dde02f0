import { generate } from 'selfsigned';
import type { TlsOptions } from '#triton/wire/tls.ts';

/**
 * A server's key and certificate, and the CA that its clients must be of, if it wants to know them.
 */
export interface ServerTls {
  readonly key: string;
  readonly cert: string;
  readonly clientCa?: string;
}

/** A CA of the test's own, and what it has signed. All keys are made anew. */
export interface Authority {
  readonly cert: string;
  /** A certificate for these names; an IPv4 address is one too. */
  serverFor(names: readonly string[], validUntil?: Date): Promise<ServerTls>;
  client(): Promise<{ readonly key: string; readonly cert: string }>;
}

const named = (value: string) => [{ name: 'commonName', value }];
const DAY_MS = 86_400_000;
const common = { keyType: 'ec', algorithm: 'sha256' } as const;

export async function newAuthority(): Promise<Authority> {
  const ca = await generate(named("the test's own CA"), {
    ...common,
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true },
    ],
  });
  const sign = async (name: string, alternatives: readonly string[], validUntil?: Date) => {
    const altNames = alternatives.map((value) =>
      /^[\d.]+$/.test(value) ? { type: 7 as const, ip: value } : { type: 2 as const, value },
    );
    const signed = await generate(named(name), {
      ...common,
      ca: { key: ca.private, cert: ca.cert },
      ...(validUntil && { notBeforeDate: new Date(validUntil.getTime() - DAY_MS), notAfterDate: validUntil }),
      extensions: [
        { name: 'basicConstraints', cA: false },
        { name: 'subjectAltName', altNames },
      ],
    });
    return { key: signed.private, cert: signed.cert };
  };
  return {
    cert: ca.cert,
    serverFor: (names, validUntil) => sign('a server', names, validUntil),
    client: () => sign('a client', ['client.test']),
  };
}

/** What a client needs to trust servers of this authority. */
export const trusting = (authority: Authority, more: Partial<TlsOptions> = {}): TlsOptions => ({
  ca: Buffer.from(authority.cert),
  verify: true,
  ...more,
});
