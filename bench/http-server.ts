import { createServer, type Socket } from 'node:net';

/**
 * An HTTP server that answers every request without a body with the same few bytes and does next to
 * nothing else. It tells its port to the process that started it, and at every message how many
 * requests it has answered.
 */
const REPLY = Buffer.from('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}', 'latin1');
const HEAD_END = '\r\n\r\n';

let answered = 0;

function serve(socket: Socket): void {
  let head = '';
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    head += chunk.toString('latin1');
    if (!head.endsWith(HEAD_END)) return;
    head = '';
    answered++;
    socket.write(REPLY);
  });
}

const server = createServer({ noDelay: true }, serve);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address && typeof address === 'object') process.send?.(address.port);
});
process.on('message', () => process.send?.(answered));
process.on('disconnect', () => process.exit());
