import { describe, expect, it } from 'vitest';
import { Conversations } from '#loadgen/conversations.ts';
import type { Part } from '#loadgen/paced-part.ts';
import type { Prompt } from '#loadgen/prompts/prompt.ts';
import { promptRequests } from '#loadgen/prompts/prompt-source.ts';
import type { InferRequest, PreparedRequest, SendOutcome, Transport } from '#loadgen/types.ts';

const turn = (content: string, more: Partial<Prompt> = {}): Prompt => ({
  messages: [{ role: 'user', content }],
  inputTokens: 10,
  maxTokens: 5,
  ignoresEnd: true,
  ...more,
});

/** Keeps what is sent until a test answers it. */
class Inner implements Transport {
  readonly sent: { readonly prompt: Prompt; readonly done: (outcome: SendOutcome) => void }[] = [];
  readonly prepare = (request: InferRequest): PreparedRequest => ({ request });

  send({ request }: PreparedRequest, done: (outcome: SendOutcome) => void): void {
    this.sent.push({ prompt: request.prompt as Prompt, done });
  }

  async close(): Promise<void> {}
}

const answer = (text: string): SendOutcome => ({
  ok: true,
  tokens: { firstNs: 1, gapsNs: [], inputTokens: 0, outputTokens: 3, countedBy: 'usage', text },
});

function begin(conversations: readonly (readonly Prompt[])[], part?: Part) {
  const inner = new Inner();
  const time = { nowNs: 0 };
  const clock = { nowNs: () => time.nowNs, wallMs: () => 0, sleep: () => Promise.resolve() };
  const set = promptRequests({ conversations, arrivalsNs: null, notes: [] }, 'm');
  const sender = new Conversations(inner, set, clock, part);
  const outcomes: SendOutcome[] = [];
  const send = () => {
    sender.send({ request: set.requests[0] as InferRequest }, (outcome) => outcomes.push(outcome));
    const { prompt, done } = inner.sent.at(-1) as Inner['sent'][number];
    return { prompt, done, said: prompt.messages.map(({ role, content }) => `${role[0]}:${content}`).join(' ') };
  };
  return { set, sender, send, outcomes, time };
}

describe('Conversations', () => {
  it('send each turn behind the real answers to those before it', () => {
    const { set, send, outcomes } = begin([[turn('A'), turn('B'), turn('C')]]);
    expect(set).toMatchObject({ streamLengths: [3], holdsConversations: true });
    const first = send();
    first.done(answer('x'));
    const second = send();
    second.done(answer('y'));
    const third = send();
    third.done(answer('z'));
    expect([first.said, second.said, third.said]).toEqual(['u:A', 'u:A a:x u:B', 'u:A a:x u:B a:y u:C']);
    expect([first, second, third].map(({ prompt }) => prompt.inputTokens)).toEqual([10, 23, 36]);
    expect([first, second, third].map(({ prompt }) => prompt.wantsText)).toEqual([true, true, undefined]);
    expect(outcomes).toHaveLength(3);
    expect(send().said).toBe('u:A');
  });

  it('never send a turn before the answer to the one before: another conversation begins', () => {
    const { send } = begin([
      [turn('A'), turn('B')],
      [turn('C'), turn('D')],
    ]);
    const [first, second] = [send(), send()];
    expect([first.said, second.said]).toEqual(['u:A', 'u:C']);
    second.done(answer('x'));
    expect(send().said).toBe('u:C a:x u:D');
    first.done(answer('y'));
    expect(send().said).toBe('u:A a:y u:B');
  });

  it('wait for the user to think, who may be overtaken', () => {
    const { send, sender, time } = begin([
      [turn('A'), turn('B', { thinkMs: 50 })],
      [turn('C'), turn('D', { thinkMs: 10 })],
    ]);
    const [first, second] = [send(), send()];
    first.done(answer('x'));
    second.done(answer('y'));
    expect(send().said).toBe('u:A');
    expect(sender.waiting).toBe(2);
    time.nowNs = 10e6;
    expect(send().said).toBe('u:C a:y u:D');
    time.nowNs = 49e6;
    expect(send().said).toBe('u:C');
    time.nowNs = 50e6;
    expect(send().said).toBe('u:A a:x u:B');
  });

  it('end with a failed turn', () => {
    const { send, sender, outcomes } = begin([
      [turn('A'), turn('B')],
      [turn('C'), turn('D')],
    ]);
    send().done({ ok: false, kind: 'status', message: 'no' });
    expect(send().said).toBe('u:C');
    expect([sender.waiting, outcomes.length]).toEqual([0, 1]);
  });

  it('go on where nobody counted tokens', () => {
    const { send } = begin([[turn('A', { inputTokens: null }), turn('B')]]);
    send().done({ ok: true });
    const { prompt, said } = send();
    expect([said, prompt.inputTokens]).toEqual(['u:A a: u:B', null]);
  });

  it('are dealt to threads, each of which has its own', () => {
    const all = ['A', 'B', 'C', 'D', 'E'].map((text) => [turn(text), turn('next')]);
    const said = [0, 1].map((index) => {
      const { send } = begin(all, { index, of: 2 });
      return [send(), send(), send()].map((sent) => sent.said);
    });
    expect(said).toEqual([
      ['u:A', 'u:C', 'u:E'],
      ['u:B', 'u:D', 'u:A'],
    ]);
  });
});
