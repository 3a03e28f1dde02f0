import { status } from '@grpc/grpc-js';

/** The method of every inference call. */
export const INFER_PATH = '/inference.GRPCInferenceService/ModelInfer';

/** The method of the stream of inferences. */
export const STREAM_INFER_PATH = '/inference.GRPCInferenceService/ModelStreamInfer';

/**
 * Returns the name of a code, such as NOT_FOUND for 5; the number itself if gRPC does not define
 * it.
 */
export function grpcStatusName(code: number): string {
  return status[code] ?? `CODE_${code}`;
}
