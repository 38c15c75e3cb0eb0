import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';

/** The requests of a host whose answer has not been written. A cancelled request gets none (Model Context Protocol, Cancellation). */
export class Unanswered {
  readonly #ids = new Set<RequestId>();
  /** The callers that wait until there is none. */
  readonly #waiting: (() => void)[] = [];

  /** Make it before a server is connected to the transport. */
  constructor(transport: Transport) {
    transport.onmessage = (message) => this.#noteReceived(message);
    const send = transport.send.bind(transport);
    transport.send = async (message, options) => {
      await send(message, options);
      if (!('method' in message) && message.id !== undefined) this.#end(message.id);
    };
  }

  /** Resolves as soon as no request is unanswered; one that comes meanwhile counts too. Never, if an answer cannot be written. */
  async none(): Promise<void> {
    if (this.#ids.size > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #noteReceived(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    if ('id' in message) this.#ids.add(message.id);
    else if (message.method === 'notifications/cancelled') this.#end(message.params?.requestId);
  }

  #end(id: unknown): void {
    if (typeof id === 'string' || typeof id === 'number') this.#ids.delete(id);
    if (this.#ids.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
