import { dirname, join } from 'node:path';
import protobuf from 'protobufjs';
import { packagePath } from '#base/package.ts';

const serviceName = 'inference.GRPCInferenceService';

let loaded: protobuf.Root | undefined;

/**
 * Returns the types of the `.proto` files, which are read once, on first use. Field names stay in
 * snake_case.
 */
function root(): protobuf.Root {
  if (!loaded) {
    const fresh = new protobuf.Root();
    fresh.resolvePath = (origin, target) => (origin ? join(dirname(origin), target) : target);
    fresh.loadSync(packagePath('proto/grpc_service.proto'), { keepCase: true });
    fresh.resolveAll();
    loaded = fresh;
  }
  return loaded;
}

/**
 * Returns the message type of package `inference` with this name, such as `ModelInferRequest` or
 * `ModelConfig`.
 */
export function messageType(name: string): protobuf.Type {
  return root().lookupType(`inference.${name}`);
}

/** One method of the service: its path on the wire and its messages. */
export interface ServiceMethod {
  readonly name: string;
  /** `/inference.GRPCInferenceService/ModelInfer` */
  readonly path: string;
  readonly requestType: protobuf.Type;
  readonly responseType: protobuf.Type;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

/** Returns the method of `GRPCInferenceService` with this name, such as `ModelInfer`. */
export function serviceMethod(name: string): ServiceMethod {
  const method = root().lookupService(serviceName).methods[name];
  if (!method) throw new RangeError(`the service has no method ${name}`);
  return describe(method);
}

/** Returns all methods of `GRPCInferenceService`. */
export function serviceMethods(): readonly ServiceMethod[] {
  return root().lookupService(serviceName).methodsArray.map(describe);
}

function describe(method: protobuf.Method): ServiceMethod {
  return {
    name: method.name,
    path: `/${serviceName}/${method.name}`,
    requestType: method.resolvedRequestType as protobuf.Type,
    responseType: method.resolvedResponseType as protobuf.Type,
    requestStream: method.requestStream === true,
    responseStream: method.responseStream === true,
  };
}

/**
 * Decodes a message, and keeps unknown fields for `listUnknownFields`. Throws on bytes that are not
 * such a message.
 */
export function decodeWithUnknown(type: protobuf.Type, bytes: Uint8Array): protobuf.Message {
  const reader = protobuf.Reader.create(bytes);
  reader.discardUnknown = false;
  return type.decode(reader);
}

/**
 * Returns where a message from `decodeWithUnknown` holds unknown fields, at any depth: paths such
 * as `config.instance_group.12`, where the last part is a field number. Each path appears once.
 */
export function listUnknownFields(message: object): readonly string[] {
  const paths = new Set<string>();
  collectUnknown(message, '', paths);
  return [...paths];
}

function collectUnknown(value: unknown, path: string, paths: Set<string>): void {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return;
  if (Array.isArray(value)) {
    for (const element of value) collectUnknown(element, path, paths);
    return;
  }
  for (const bytes of listUnknownBytes(value)) {
    // A field starts with its tag: the number, then three bits of wire type.
    paths.add(`${path}${protobuf.Reader.create(bytes).uint32() >>> 3}`);
  }
  for (const [name, field] of Object.entries(value)) collectUnknown(field, `${path}${name}.`, paths);
}

/**
 * protobufjs keeps the bytes of each unknown field with the message, as a non-enumerable property.
 */
function listUnknownBytes(value: object): readonly Uint8Array[] {
  return (value as { readonly $unknowns?: readonly Uint8Array[] }).$unknowns ?? [];
}
