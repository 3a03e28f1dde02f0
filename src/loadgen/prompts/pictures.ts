import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readBytes } from '#base/read-file.ts';
import type { MessagePart, Prompt } from './prompt.ts';
import type { PromptSource } from './prompt-source.ts';

/** What a server fetches, or what is in the message already. */
const NO_FILE = /^(?:https?|data):/i;

/** The first bytes of pictures in Latin-1, and the media type of each. */
const formats: readonly (readonly [start: RegExp, mediaType: string])[] = [
  [/^\x89PNG/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF[\s\S]{4}WEBP/, 'image/webp'],
];
const START_BYTES = 12;
/** Letters of a path in a message. */
const MAX_PATH = 200;

/**
 * Replaces each path of a picture, relative to the prompt file, by a data URL with its content. A
 * file that is no PNG, JPEG, GIF or WebP is not sent, whatever the prompt file says. Errors:
 * INPUT_INVALID.
 */
export async function loadPictures(source: PromptSource, promptFile: string): Promise<PromptSource> {
  const urls = new Map<string, string>();
  let leftBytes: number = fileLimits.inputData;
  for (const { messages } of source.conversations.flat()) {
    for (const part of messages.flatMap(({ parts }) => parts ?? [])) {
      const path = findPath(part);
      if (path === undefined || urls.has(path)) continue;
      const url = await readPicture(path, promptFile, leftBytes);
      urls.set(path, url);
      leftBytes -= url.length;
    }
  }
  if (urls.size === 0) return source;
  const toLoaded = (part: MessagePart): MessagePart => {
    const url = urls.get(findPath(part) ?? '');
    return part.type === 'image_url' && url !== undefined ? { ...part, image_url: { ...part.image_url, url } } : part;
  };
  const withPictures = (prompt: Prompt): Prompt => ({
    ...prompt,
    messages: prompt.messages.map((message) =>
      message.parts ? { ...message, parts: message.parts.map(toLoaded) } : message,
    ),
  });
  return { ...source, conversations: source.conversations.map((turns) => turns.map(withPictures)) };
}

const findPath = (part: MessagePart): string | undefined =>
  part.type === 'image_url' && !NO_FILE.test(part.image_url.url) ? part.image_url.url : undefined;

async function readPicture(named: string, promptFile: string, limitBytes: number): Promise<string> {
  const shown = named.slice(0, MAX_PATH);
  let bytes: Buffer;
  try {
    const path = named.startsWith('file:') ? fileURLToPath(named) : named;
    bytes = await readBytes(resolve(dirname(promptFile), path), Math.max(limitBytes, 0));
  } catch (error) {
    throw invalid(promptFile, `cannot read the picture '${shown}': ${formatMessage(error)}`);
  }
  const start = bytes.toString('latin1', 0, START_BYTES);
  const [, mediaType] = formats.find(([sign]) => sign.test(start)) ?? [];
  if (mediaType === undefined) throw invalid(promptFile, `'${shown}' is no PNG, JPEG, GIF or WebP`);
  return `data:${mediaType};base64,${bytes.toString('base64')}`;
}

const invalid = (promptFile: string, what: string): TrituneError =>
  new TrituneError('INPUT_INVALID', `${promptFile}: ${what}`, 'give the path of a picture, relative to this file');
