import { type ConnectionOptions, connect, createSecureContext } from 'node:tls';
import { formatMessage, TrituneError } from '#base/errors.ts';

/**
 * How to speak TLS with a server. Certificates and keys are in PEM; without `ca` the runtime's own
 * roots are trusted.
 */
export interface TlsOptions {
  readonly ca?: Buffer | undefined;
  /** The certificate for a server that authenticates its clients (mTLS); requires `key`. */
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  /** The name that the server's certificate must be for; the address's host if absent. */
  readonly servername?: string | undefined;
  /** False: trusts any server. */
  readonly verify: boolean;
}

/**
 * Returns the options of `node:tls`, and of libraries that pass them on, for a connection that
 * speaks one of `protocols`.
 */
export function secureOptions(tls: TlsOptions, protocols: readonly string[]): ConnectionOptions {
  return {
    rejectUnauthorized: tls.verify,
    ALPNProtocols: [...protocols],
    ...(tls.ca && { ca: tls.ca }),
    ...(tls.cert && { cert: tls.cert, key: tls.key }),
    ...(tls.servername !== undefined && { servername: tls.servername }),
  };
}

/** Errors: USAGE if a certificate or key cannot be used. Never reveals their content. */
export function checkTls(tls: TlsOptions): void {
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw usage('a client certificate needs its key', 'give both --tls-cert and --tls-key, or neither');
  }
  for (const [what, part] of [
    ['the CA certificate', { ca: tls.ca }],
    ['the client certificate or its key', { cert: tls.cert, key: tls.key }],
  ] as const) {
    try {
      createSecureContext(part);
    } catch (error) {
      throw usage(`${what} cannot be used: ${formatMessage(error)}`, 'give PEM files, the key without a passphrase');
    }
  }
  // Node accepts a file without any certificate, and would then trust nobody.
  if (tls.ca && !tls.ca.includes('-----BEGIN')) throw usage('the CA certificate is not a PEM file', 'give a PEM file');
}

/** A TLS problem between a client and a server, in words for people. */
export interface TlsTrouble {
  readonly message: string;
  readonly hint: string;
}

const untrusted = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_UNTRUSTED',
  'CERT_SIGNATURE_FAILURE',
  'INVALID_CA',
];

/** OpenSSL's errors for an answer that is not TLS. */
const NO_TLS =
  /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNEXPECTED_MESSAGE|RECORD_OVERFLOW|HTTP_REQUEST)$/;

/** Returns the problem behind an error of a TLS socket; undefined if it is not about TLS. */
export function findTlsTrouble(error: unknown): TlsTrouble | undefined {
  const code = findCode(error);
  const words = formatMessage(error);
  if (untrusted.includes(code)) {
    return {
      message: `the server's certificate is not trusted: ${words}`,
      hint: 'give the certificate of its CA with --tls-ca, or use --tls-insecure where nobody can be in between',
    };
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = listNames(error);
    return {
      message: `the server's certificate is for another host: ${names ?? words}`,
      hint: 'use a name that the certificate has, in the address or with --tls-server-name',
    };
  }
  if (/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/.test(code)) {
    return { message: `the server's certificate is not valid now: ${words}`, hint: 'renew it, or look at the clocks' };
  }
  if (NO_TLS.test(code)) {
    return { message: 'the server does not speak TLS here', hint: 'leave out --tls and https://, or use its TLS port' };
  }
  if (
    /^ERR_SSL_.*(CERTIFICATE_REQUIRED|UNKNOWN_CA|BAD_CERTIFICATE|CERTIFICATE_UNKNOWN|HANDSHAKE_FAILURE)$/.test(code)
  ) {
    return notAccepted(brief(words));
  }
  if (code.startsWith('ERR_SSL_')) {
    return {
      message: `TLS with the server fails: ${brief(words)}`,
      hint: 'see which TLS versions and protocols it takes',
    };
  }
  return undefined;
}

const notAccepted = (words: string): TlsTrouble => ({
  message: `the server does not accept us as its client: ${words}`,
  hint: 'give a certificate that it knows with --tls-cert and --tls-key',
});

/** Returns the names in the certificate that an error includes. */
function listNames(error: unknown): string | undefined {
  return (error as { readonly cert?: { readonly subjectaltname?: string } }).cert?.subjectaltname;
}

/** Returns OpenSSL's message without its source locations. */
function brief(words: string): string {
  return /:(?:SSL routines|ssl3?)?:[^:]*:([^:]+):/i.exec(words)?.[1] ?? words.split('\n')[0] ?? words;
}

function findCode(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

const SPEAKS_TLS: TlsTrouble = {
  message: 'the server speaks TLS, and we do not',
  hint: 'add --tls, or https:// before its address',
};
const DIAGNOSIS_MS = 1000;
/** A server that refuses us as a client reports it only after the handshake. */
const AFTERMATH_MS = 300;

/**
 * Connects once more after a failed call, only to find a TLS problem, because the libraries' own
 * messages hide it. Takes at most a second; undefined if TLS is not the problem, or if nothing
 * answers.
 */
export function diagnoseTls(
  address: { host: string; port: number },
  tls: TlsOptions | undefined,
): Promise<TlsTrouble | undefined> {
  const options = secureOptions(tls ?? { verify: false }, ['h2', 'http/1.1']);
  return new Promise((resolve) => {
    const socket = connect({ ...options, ...address });
    const end = (trouble?: TlsTrouble): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(trouble);
    };
    let greeted = false;
    let timer = setTimeout(() => end(), DIAGNOSIS_MS);
    socket.on('secureConnect', () => {
      greeted = true;
      if (!tls) return end(SPEAKS_TLS);
      clearTimeout(timer);
      timer = setTimeout(() => end(), AFTERMATH_MS);
      socket.resume();
    });
    socket.on('error', (error) => {
      if (tls) return end(findTlsTrouble(error) ?? (greeted ? notAccepted(formatMessage(error)) : undefined));
      // A server that rejects our handshake does speak TLS.
      end(findCode(error).startsWith('ERR_SSL_') && !NO_TLS.test(findCode(error)) ? SPEAKS_TLS : undefined);
    });
    socket.on('close', () => end(greeted ? notAccepted('it hangs up after the handshake') : undefined));
  });
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
