import { TrituneError } from '#base/errors.ts';

/** OpenTelemetry's packages, which only `--otlp` needs. */
const INSTALL =
  'npm install @opentelemetry/api@1.10 @opentelemetry/resources@3 @opentelemetry/sdk-metrics@3 @opentelemetry/sdk-trace@3 @opentelemetry/exporter-metrics-otlp-http@0.301 @opentelemetry/exporter-trace-otlp-http@0.301';

/** Returns the packages. Errors: UNSUPPORTED if they are not installed, with how to do that. */
export async function telemetryPackages() {
  try {
    const [api, resources, metrics, traces, metricsExport, traceExport] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-metrics-otlp-http'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ]);
    return { api, resources, metrics, traces, metricsExport, traceExport };
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new TrituneError('UNSUPPORTED', "OpenTelemetry's packages, which --otlp needs, are not installed", INSTALL, {
      cause: error,
    });
  }
}
