import { isLoopback } from '#loadgen/loopback.ts';
import type { HeaderSpec, TlsSpec } from '#spec/server-spec.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import { tlsInAddress } from './address-text.ts';
import { hasCredentials } from './headers.ts';

/** The fields of a spec about TLS. */
export const tlsNames = ['tls', 'tlsCa', 'tlsCert', 'tlsKey', 'tlsServerName', 'tlsInsecure'] as const;

/** True if any field is about TLS. */
export const wantsTls = (flags: TlsSpec): boolean => tlsNames.some((name) => flags[name] !== undefined);

/** Returns the part of a spec about TLS. */
export const pickTls = (flags: TlsSpec): TlsSpec =>
  Object.fromEntries(tlsNames.flatMap((name) => (flags[name] === undefined ? [] : [[name, flags[name]]])));

/** Warns about `--tls-insecure`, and about a token that crosses a network in plaintext. */
export function warnIfInsecure(
  flags: TlsSpec & HeaderSpec & { readonly url?: string | undefined },
  { tell }: { readonly tell: (line: string) => void },
): void {
  const isInPlaintext = (url: string): boolean => !(tlsInAddress(url) ?? wantsTls(flags));
  const far = splitAddresses(flags.url ?? 'localhost').filter((url) => !isLoopback(url));
  if (far.some(isInPlaintext) && hasCredentials(flags)) {
    tell('the token goes to the server in plaintext: who is on the way can read it (--tls, or https://)');
  }
  if (flags.tlsInsecure) tell("the server's certificate is not verified (--tls-insecure): it may be anyone's");
}
