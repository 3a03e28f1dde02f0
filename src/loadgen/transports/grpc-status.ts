import { status } from '@grpc/grpc-js';

/** The method of every inference call. */
export const INFER_PATH = '/inference.GRPCInferenceService/ModelInfer';

/** The method of the stream of inferences. */
export const STREAM_INFER_PATH = '/inference.GRPCInferenceService/ModelStreamInfer';

/** NOT_FOUND for 5, and so on; a code that gRPC does not define by its number. */
export function grpcStatusName(code: number): string {
  return status[code] ?? `CODE_${code}`;
}
