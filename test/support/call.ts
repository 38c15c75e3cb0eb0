import { Call, type CallStart } from '../../src/call.ts';
import { Emitter } from '../../src/events.ts';
import { CALL_DEFAULTS, type CallOptions } from '../../src/options/call-options.ts';

/** A call as the pipeline would make it: an update of pet 42 unless told otherwise. */
export function makeCall(start: Partial<CallStart> = {}, options: Partial<CallOptions> = {}): Call {
  return new Call({
    id: 1,
    operation: 'updateInventory',
    petId: 42,
    emitter: new Emitter(),
    ...start,
    options: { ...CALL_DEFAULTS, ...options },
  });
}

/** The same for a list. */
export function makeListCall(options: Partial<CallOptions> = {}): Call {
  return makeCall({ operation: 'listInventory', petId: undefined }, options);
}
