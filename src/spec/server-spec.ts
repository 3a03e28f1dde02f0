import { z } from 'zod';
import type { ReadOnly } from '#base/read-only.ts';
import { languageServerSpec } from './language-spec.ts';
import { faultOfDockerArgument, faultOfServerArgument } from './launch-arguments.ts';

const text = z.string().min(1);

/** The TLS settings of a server. Files are named, never their contents. */
export const tlsSpec = z.strictObject({
  tls: z.boolean().optional().describe('Use TLS, as `https://` or `grpcs://` in the address do'),
  tlsCa: text.optional().describe("PEM file of the CA that signed the server's certificate"),
  tlsCert: text.optional().describe('PEM file of the client certificate'),
  tlsKey: text.optional().describe('PEM file of the key of tlsCert'),
  tlsServerName: text.optional().describe("Name in the server's certificate; the name in the address by default"),
  tlsInsecure: z.boolean().optional().describe("Do not verify the server's certificate"),
});

/**
 * Headers of every request and control call. A written spec has names, variables and files, never
 * values.
 */
export const headerSpec = z.strictObject({
  header: z.array(text).optional().describe('NAME: VALUE; in a recorded study the name alone'),
  headerEnv: z.array(text).optional().describe('NAME:VARIABLE, with the value of an environment variable'),
  headerFile: z.array(text).optional().describe('Files with a NAME: VALUE on each line'),
  tokenEnv: text.optional().describe('Environment variable with a bearer token'),
  tokenFile: text.optional().describe('File with a bearer token'),
});

export const protectSpec = z.strictObject({
  protect: z.array(text).optional().describe('Models that must not be loaded, unloaded or given another config'),
});

export const restoreFirstSpec = z.strictObject({
  restoreFirst: z
    .boolean()
    .optional()
    .describe('Restore a model first that a killed run left changed, instead of refusing it'),
});

export const protocols = ['grpc', 'http'] as const;

/** The address of a server, and the protocols of requests and control calls. */
export const addressSpec = z.strictObject({
  url: text
    .optional()
    .describe(
      'HOST:PORT of the server; localhost with the usual port by default, port 443 after https://. Several, as A,B, are used as one service',
    ),
  protocol: z.enum(protocols).default('grpc').describe('Protocol of the requests'),
  controlUrl: text.optional().describe('HOST:PORT of gRPC for loading models when requests go over HTTP'),
  metricsUrl: text
    .optional()
    .describe(
      "Address of the server's Prometheus metrics; by default the port after that of gRPC if it has them, else `http://HOST:8002/metrics`",
    ),
  ...tlsSpec.shape,
  ...headerSpec.shape,
});

export const DEFAULT_DOCKER_IMAGE = 'nvcr.io/nvidia/tritonserver:26.09-py3';

const CPU_LIST = /^\d+(-\d+)?(,\d+(-\d+)?)*$/;

const argumentsWithout = (findFault: (text: string) => string | null) =>
  z.array(text.refine((each) => findFault(each) === null, { error: ({ input }) => `${findFault(String(input))}` }));

/** A server that is started for the run and stopped with it. */
export const launchSpec = z.strictObject({
  launch: text.optional().describe('emulator[:PROFILE], twin:RUN_DIRECTORY, local or docker'),
  modelRepository: text.optional().describe('Model repository for launch local or docker'),
  tritonserver: text.optional().describe('Triton binary for launch local'),
  dockerImage: text.default(DEFAULT_DOCKER_IMAGE).describe('Image for launch docker'),
  dockerGpus: text.optional().describe('GPUs for launch docker, or none; all by default'),
  serverArg: argumentsWithout(faultOfServerArgument)
    .optional()
    .describe('Options of tritonserver for launch local or docker, each --NAME=VALUE'),
  serverCpus: text
    .regex(CPU_LIST, 'expected cores such as 0-3,8')
    .optional()
    .describe('CPU cores of the started server, such as 0-3,8; all by default'),
  dockerArg: argumentsWithout(faultOfDockerArgument)
    .optional()
    .describe('Options of docker run for launch docker, each --NAME=VALUE'),
});

export const restoreWays = ['config', 'reload'] as const;

/** The server of a study, and how its model is restored. */
export const serverSpec = z.strictObject({
  ...addressSpec.shape,
  ...launchSpec.shape,
  ...protectSpec.shape,
  ...restoreFirstSpec.shape,
  ...languageServerSpec.shape,
  restore: z
    .enum(restoreWays)
    .default('config')
    .describe('Put the original model back by its config, or by a reload from the repository'),
});

export type Protocol = (typeof protocols)[number];
export type TlsSpec = ReadOnly<z.infer<typeof tlsSpec>>;
export type HeaderSpec = ReadOnly<z.infer<typeof headerSpec>>;
export type RestoreFirstSpec = ReadOnly<z.infer<typeof restoreFirstSpec>>;
export type ProtectSpec = ReadOnly<z.infer<typeof protectSpec>>;
export type AddressSpec = ReadOnly<z.infer<typeof addressSpec>>;
export type LaunchSpec = ReadOnly<z.infer<typeof launchSpec>>;
