import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

/** The package's `proto/` folder: two levels up from `src/triton` and from `dist/triton` alike. */
const protoFolder = fileURLToPath(new URL('../../proto/', import.meta.url));

let loaded: protobuf.Root | undefined;

/** The types of the `.proto` files, read once, on first use. Field names stay in snake_case. */
function root(): protobuf.Root {
  if (!loaded) {
    const fresh = new protobuf.Root();
    fresh.resolvePath = (origin, target) => (origin ? join(dirname(origin), target) : target);
    fresh.loadSync(join(protoFolder, 'grpc_service.proto'), { keepCase: true });
    fresh.resolveAll();
    loaded = fresh;
  }
  return loaded;
}

/** The message type of package `inference` with this name, such as `ModelInferRequest` or `ModelConfig`. */
export function messageType(name: string): protobuf.Type {
  return root().lookupType(`inference.${name}`);
}

/** One method of the service: its path on the wire (`/inference.GRPCInferenceService/ModelInfer`) and its messages. */
export interface ServiceMethod {
  readonly path: string;
  readonly requestType: protobuf.Type;
  readonly responseType: protobuf.Type;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
}

/** The methods of `GRPCInferenceService` by name, such as `ModelInfer`. */
export function serviceMethods(): ReadonlyMap<string, ServiceMethod> {
  const service = root().lookupService('inference.GRPCInferenceService');
  return new Map(
    service.methodsArray.map((method) => {
      method.resolve();
      return [
        method.name,
        {
          path: `/inference.GRPCInferenceService/${method.name}`,
          requestType: method.resolvedRequestType as protobuf.Type,
          responseType: method.resolvedResponseType as protobuf.Type,
          requestStream: method.requestStream === true,
          responseStream: method.responseStream === true,
        },
      ];
    }),
  );
}
