import type { LeaseRequest } from 'petstore-inventory';

/** What process `a` sends to a quota store: nothing but what is given. */
export function leaseRequestOf(request: Partial<LeaseRequest>): LeaseRequest {
  return {
    member: 'a',
    wanted: 0,
    returned: 0,
    returnedResetAtMs: 0,
    uncounted: 0,
    unanswered: 0,
    lateAnswers: [],
    plan: {},
    minute: undefined,
    day: undefined,
    isProbeAnswered: false,
    closedForMs: 0,
    ...request,
  };
}
