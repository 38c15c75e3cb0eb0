import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';

/** The requests of a host that have no answer yet. A cancelled request gets none (Model Context Protocol, Cancellation). */
export class Unanswered {
  readonly #ids = new Set<RequestId>();
  #onNone = (): void => {};

  /** Make it before a server is connected to the transport. */
  constructor(transport: Transport) {
    transport.onmessage = (message) => this.#noteReceived(message);
    const send = transport.send.bind(transport);
    transport.send = (message, options) => {
      if (!('method' in message) && message.id !== undefined) this.#end(message.id);
      return send(message, options);
    };
  }

  /** Resolves once every request so far is answered. */
  async none(): Promise<void> {
    if (this.#ids.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#onNone = resolve;
    });
  }

  #noteReceived(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    if ('id' in message) this.#ids.add(message.id);
    else if (message.method === 'notifications/cancelled') this.#end(message.params?.requestId);
  }

  #end(id: unknown): void {
    for (const each of this.#ids) if (each === id) this.#ids.delete(each);
    if (this.#ids.size === 0) this.#onNone();
  }
}
