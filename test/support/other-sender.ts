import { onTestFinished } from 'vitest';
import { prepareInputs } from '#loadgen/inputs.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { connectGrpc, connectHttp } from '#triton/control/connect.ts';

/**
 * Somebody else who sends the model requests until the test is over, one after another with pauses.
 */
export async function othersSend(
  protocol: 'grpc' | 'http',
  url: string,
  model: string,
  pauseMs: number,
): Promise<void> {
  const client = protocol === 'grpc' ? connectGrpc(url) : connectHttp(url);
  const [metadata, config] = await Promise.all([client.modelMetadata(model), client.modelConfig(model)]);
  const inputs = prepareInputs(metadata, config, { batch: 1, seed: 9, kind: 'random' });
  const transport = openTransport(protocol, { url, timeoutMs: 5000 });
  const prepared = transport.prepare(inputs.requests[0] as never);
  let isSending = true;
  const send = (): void => transport.send(prepared, () => void (isSending && setTimeout(send, pauseMs)));
  send();
  onTestFinished(async () => {
    isSending = false;
    await transport.close();
    await client.close();
  });
}
