import {
  type Int64,
  type InvalidResponseError,
  type InventoryItem,
  type InventoryStream,
  type InventoryUpdate,
  isPetStatus,
  isPetStoreError,
  type Journal,
  JournalError,
  type PetId,
  type PetStatus,
  type PetStoreApi,
  PetStoreClient,
  type PetStoreClientOptions,
  PetStoreError,
  type PetStoreFailure,
  type PlanLimits,
  type Quota,
  type RateLimit,
  type RecordOptions,
  type Reply,
  type RequestOptions,
  type RetryBudgetState,
  type StockChange,
  StockView,
  type SyncItemError,
  type SyncReport,
  type syncInventory,
  type ViewItemsOptions,
} from 'petstore-inventory';
import type { ServeSandboxOptions } from 'petstore-inventory/node';
import type { Counting, DomainRedirect, Fault, LimitHeaders, SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expectTypeOf, test } from 'vitest';

declare const petstore: PetStoreClient;
declare const exact: PetStoreClient<'bigint'>;

describe('petstore.fetch', () => {
  test('is a fetch, which also takes a priority', () => {
    expectTypeOf(petstore.fetch).toExtend<typeof globalThis.fetch>();
    expectTypeOf(petstore.fetch('/pets', { priority: 'low' })).resolves.toEqualTypeOf<Response>();
    expectTypeOf(petstore.fetch(new Request('https://shop.example/v1/pets'))).resolves.toEqualTypeOf<Response>();
    expectTypeOf(petstore.fetch(new URL('https://shop.example/v1/pets'))).resolves.toEqualTypeOf<Response>();
    // @ts-expect-error a pet is named by its path
    petstore.fetch(42);
    // @ts-expect-error there is no such priority
    petstore.fetch('/pets', { priority: 'urgent' });
  });
});

test('An InventoryUpdate is assignable to a Record', () => {
  expectTypeOf<InventoryUpdate>().toExtend<Record<string, unknown>>();
});

describe('ids', () => {
  test('are numbers by default', () => {
    expectTypeOf<InventoryItem['petId']>().toEqualTypeOf<number>();
    expectTypeOf(petstore.listInventory()).resolves.toEqualTypeOf<InventoryItem[]>();
    expectTypeOf(petstore.updateInventory(42, { quantity: 1 })).resolves.toEqualTypeOf<InventoryItem>();
    expectTypeOf(petstore.streamInventory()).toEqualTypeOf<InventoryStream>();
    expectTypeOf(new PetStoreClient({ apiKey: 'x' })).toEqualTypeOf<PetStoreClient<'number'>>();
  });

  test('are bigints if the option says so', () => {
    expectTypeOf<InventoryItem<'bigint'>['petId']>().toEqualTypeOf<bigint>();
    expectTypeOf(exact.listInventory()).resolves.toEqualTypeOf<InventoryItem<'bigint'>[]>();
    expectTypeOf(exact.updateInventory(42, { quantity: 1 })).resolves.toEqualTypeOf<InventoryItem<'bigint'>>();
    expectTypeOf(exact.streamInventory()).toExtend<AsyncIterable<InventoryItem<'bigint'>>>();
    expectTypeOf(new PetStoreClient({ apiKey: 'x', int64: 'bigint' })).toEqualTypeOf<PetStoreClient<'bigint'>>();
  });

  test('of a view are those of its client', () => {
    const [view, exactView] = [new StockView(petstore), new StockView(exact)];
    expectTypeOf(view).toEqualTypeOf<StockView>();
    expectTypeOf(view.get(42)).resolves.toEqualTypeOf<InventoryItem | undefined>();
    expectTypeOf(exactView).toEqualTypeOf<StockView<'bigint'>>();
    expectTypeOf(exactView.get(42)).resolves.toEqualTypeOf<InventoryItem<'bigint'> | undefined>();
    expectTypeOf(exactView.items()).resolves.toEqualTypeOf<Iterable<InventoryItem<'bigint'>>>();
    expectTypeOf(exactView.changes()).toExtend<AsyncIterable<StockChange<'bigint'>>>();
    expectTypeOf(exactView.adjust(42n, -1)).resolves.toEqualTypeOf<InventoryItem<'bigint'>>();
    // @ts-expect-error the client gives numbers
    new StockView<'bigint'>(petstore);
  });

  test('have the type of the type argument only if the option agrees', () => {
    // @ts-expect-error ids would come out as numbers
    const annotated: PetStoreClient<'bigint'> = new PetStoreClient({ apiKey: 'x' });
    // @ts-expect-error the variables hold no `int64`
    const empty: PetStoreClient<'bigint'> = new PetStoreClient();
    // @ts-expect-error an options variable may leave it out
    new PetStoreClient({} as PetStoreClientOptions<'bigint'>);
    expectTypeOf(annotated).toEqualTypeOf(empty);
    const either = {} as 'number' | 'bigint';
    expectTypeOf(new PetStoreClient({ int64: either })).toEqualTypeOf<PetStoreClient<'number' | 'bigint'>>();
    const wrap = <Ids extends Int64>(options: PetStoreClientOptions<Ids>, int64: Ids) => new PetStoreClient({ ...options, int64 });
    expectTypeOf(wrap({ apiKey: 'x' }, 'bigint')).toEqualTypeOf<PetStoreClient<'bigint'>>();
    expectTypeOf<{ apiKey: string }>().toExtend<ConstructorParameters<typeof PetStoreClient>[0]>();
    expectTypeOf(new PetStoreClient({} as PetStoreClientOptions)).toEqualTypeOf<PetStoreClient>();
  });

  test('that may be either are not taken for numbers or bigints', () => {
    const either = {} as PetStoreClient<Int64>;
    // @ts-expect-error an id may be a bigint
    const client: PetStoreClient = either;
    // @ts-expect-error an id may be a number
    const exactClient: PetStoreClient<'bigint'> = either;
    // @ts-expect-error an id may be a bigint
    const api: PetStoreApi = {} as PetStoreApi<Int64>;
    // @ts-expect-error an id may be a bigint
    const item: InventoryItem = {} as InventoryItem<Int64>;
    // @ts-expect-error an id may be a bigint
    const promised: Promise<InventoryItem> = {} as Promise<InventoryItem<Int64>>;
    // @ts-expect-error an id may be a bigint
    const stream: InventoryStream = {} as InventoryStream<Int64>;
    // @ts-expect-error an id may be a bigint
    const view: StockView = {} as StockView<Int64>;
    // @ts-expect-error an id may be a bigint
    const change: StockChange = {} as StockChange<Int64>;
    expectTypeOf([client, exactClient, api, item, promised, stream, view, change]).toBeArray();
  });

  test('that are numbers or bigints may be taken for either', () => {
    expectTypeOf<InventoryItem<Int64>['petId']>().toEqualTypeOf<number | bigint>();
    expectTypeOf<PetStoreClient>().toExtend<PetStoreClient<Int64>>();
    expectTypeOf<PetStoreClient<'bigint'>>().toExtend<PetStoreClient<Int64>>();
    expectTypeOf<PetStoreApi<'bigint'>>().toExtend<PetStoreApi<Int64>>();
    expectTypeOf<InventoryItem<'bigint'>>().toExtend<InventoryItem<Int64>>();
    expectTypeOf<InventoryStream<'bigint'>>().toExtend<InventoryStream<Int64>>();
    expectTypeOf<StockView<'bigint'>>().toExtend<StockView<Int64>>();
  });

  test('may be passed as either', () => {
    expectTypeOf<PetId>().toEqualTypeOf<number | bigint>();
    expectTypeOf(petstore.updateInventory).parameter(0).toEqualTypeOf<PetId>();
    // @ts-expect-error a petId is no string
    petstore.updateInventory('42', { quantity: 1 });
    // @ts-expect-error a quantity is no bigint
    petstore.updateInventory(42, { quantity: 1n });
    // @ts-expect-error an update has a quantity
    petstore.updateInventory(42, {});
  });
});

test('a status is open: known ones are suggested, others are allowed, and isPetStatus narrows to known ones', () => {
  expectTypeOf<PetStatus>().toEqualTypeOf<'available' | 'pending' | 'sold'>();
  expectTypeOf<'reserved'>().toExtend<InventoryItem['status']>();
  const status: InventoryItem['status'] = 'available';
  const known = isPetStatus(status) ? status : undefined;
  expectTypeOf(known).toEqualTypeOf<PetStatus | undefined>();
  const readStatus = ({ status }: InventoryItem): PetStatus => {
    // @ts-expect-error an open status is not known yet
    return status;
  };
  expectTypeOf(readStatus).returns.toEqualTypeOf<PetStatus>();
  expectTypeOf<ViewItemsOptions['status']>().toEqualTypeOf<InventoryItem['status'] | undefined>();
});

test('withResponse gives the data and what the call took', () => {
  const reply = petstore.listInventory().withResponse();
  expectTypeOf(reply).resolves.toEqualTypeOf<Reply<InventoryItem[]>>();
  expectTypeOf<Reply<number>>().toEqualTypeOf<{
    data: number;
    status: number;
    headers: Headers;
    rateLimit?: RateLimit;
    attempts: number;
    waitedMs: number;
    supersededBy?: number;
  }>();
});

/** What a caller writes: the compiler sees that no kind is forgotten. */
function explain(failure: PetStoreFailure): string {
  switch (failure.kind) {
    case 'bad-request':
    case 'authentication':
    case 'not-found':
    case 'server':
    case 'connection':
    case 'timeout':
      return failure.message;
    case 'rate-limit':
      return String(failure.retryAt?.getTime());
    case 'unexpected-status':
      return failure.location ?? '';
    case 'invalid-response':
      return `${failure.reason} ${failure.problems[0]?.path}`;
    case 'invalid-argument':
      return failure.argument;
    case 'configuration':
      return failure.option;
    default:
      return failure satisfies never;
  }
}

describe('failures', () => {
  test('narrow by kind', () => {
    expectTypeOf(explain).returns.toEqualTypeOf<string>();
    expectTypeOf<Extract<PetStoreFailure, { kind: 'not-found' }>['name']>().toEqualTypeOf<'NotFoundError'>();
    expectTypeOf<PetStoreFailure['outcome']>().toEqualTypeOf<'not-sent' | 'rejected' | 'unknown' | undefined>();
    expectTypeOf<PetStoreFailure['petId']>().toEqualTypeOf<PetId | undefined>();
  });

  test('are recognized by isPetStoreError', () => {
    expectTypeOf(isPetStoreError).guards.toEqualTypeOf<PetStoreFailure>();
  });

  test('that instanceof recognises have one of the kinds', () => {
    const isMissing = (error: unknown) => {
      // @ts-expect-error there is no such kind
      return error instanceof PetStoreError && error.kind === 'not_found';
    };
    expectTypeOf<PetStoreError['kind']>().toEqualTypeOf<PetStoreFailure['kind']>();
    expectTypeOf(isMissing).returns.toEqualTypeOf<boolean>();
  });

  test('have fields of their own only if their kind is known', () => {
    const readLocation = (failure: PetStoreFailure) => {
      // @ts-expect-error only an unexpected status has a location
      return failure.location;
    };
    expectTypeOf(readLocation).toBeFunction();
  });

  test('are read only', () => {
    const rename = (failure: PetStoreFailure) => {
      // @ts-expect-error a kind is a literal and stays
      failure.kind = 'not-found';
    };
    expectTypeOf(rename).toBeFunction();
  });
});

describe('RequestOptions', () => {
  test('are the documented ones', () => {
    expectTypeOf<keyof RequestOptions>().toEqualTypeOf<
      'signal' | 'attemptTimeoutMs' | 'totalTimeoutMs' | 'maxRetries' | 'maxWaitMs' | 'priority' | 'latestOnly' | 'headers'
    >();
    expectTypeOf<RequestOptions['signal']>().toEqualTypeOf<AbortSignal | undefined>();
    expectTypeOf<RequestOptions['headers']>().toEqualTypeOf<Record<string, string> | Headers | undefined>();
    expectTypeOf<PetStoreClientOptions['headers']>().toEqualTypeOf<RequestOptions['headers']>();
    expectTypeOf<RequestOptions['priority']>().toEqualTypeOf<'normal' | 'low' | undefined>();
  });

  test('are checked', () => {
    // @ts-expect-error there are two priorities
    petstore.listInventory({ priority: 'high' });
    // @ts-expect-error options of a client are none of a call
    petstore.listInventory({ plan: 'pro' });
  });
});

test('a client, whatever its ids, is a PetStoreApi of the same ids, and accepted by a synchronisation', () => {
  expectTypeOf(petstore).toExtend<PetStoreApi>();
  expectTypeOf(exact).toExtend<PetStoreApi<'bigint'>>();
  // @ts-expect-error its ids are numbers
  const wrong: PetStoreApi<'bigint'> = petstore;
  const takes = (client: Parameters<typeof syncInventory>[0]) => client;
  expectTypeOf(takes(petstore)).toEqualTypeOf(takes(exact));
  expectTypeOf(wrong.listInventory()).resolves.toEqualTypeOf<InventoryItem<'bigint'>[]>();
});

test('client options are checked', () => {
  // @ts-expect-error there is no such plan
  new PetStoreClient({ plan: 'gold' });
  // @ts-expect-error ids come out as number or bigint
  new PetStoreClient({ int64: 'string' });
  expectTypeOf(
    new PetStoreClient({ apiKey: async () => 'x', baseUrl: { staging: new URL('https://x.test/v1') } }),
  ).toExtend<AsyncDisposable>();
});

test('events name their call', () => {
  petstore.on('settled', (event) => {
    expectTypeOf(event.outcome).toEqualTypeOf<'succeeded' | 'superseded' | 'not-sent' | 'rejected' | 'unknown'>();
    expectTypeOf(event.petId).toEqualTypeOf<PetId | undefined>();
  });
  petstore.on('gate', ({ until }) => expectTypeOf(until).toEqualTypeOf<Date | undefined>());
  expectTypeOf(petstore.on('wait', () => {})).toEqualTypeOf<() => void>();
  // @ts-expect-error there is no such event
  petstore.on('sent', () => {});
});

test('quota has dates or undefined', () => {
  expectTypeOf(petstore.quota).toEqualTypeOf<Quota>();
  expectTypeOf(petstore.quota.closedUntil).toEqualTypeOf<Date | undefined>();
  expectTypeOf(petstore.quota.minute.resetAt).toEqualTypeOf<Date | undefined>();
});

test('the error of a retry narrows by its kind', () => {
  petstore.on('retry', ({ error }) => expectTypeOf(explain(error)).toEqualTypeOf<string>());
});

test('retryBudget is two numbers', () => {
  expectTypeOf(petstore.retryBudget).toEqualTypeOf<RetryBudgetState>();
  expectTypeOf(petstore.retryBudget).toEqualTypeOf<{ available: number; capacity: number }>();
  petstore.on('retryBudget', ({ state }) => expectTypeOf(state).toEqualTypeOf<'empty' | 'refilled'>());
});

test('a failed pet of a report narrows by its kind', () => {
  const narrow = ({ error }: SyncReport['failed'][number]) => {
    switch (error.kind) {
      case 'sync':
        return expectTypeOf(error).toEqualTypeOf<SyncItemError>();
      case 'unexpected-status':
        return expectTypeOf(error.location).toEqualTypeOf<string | undefined>();
      default:
        return expectTypeOf(error).toExtend<PetStoreFailure>();
    }
  };
  expectTypeOf(narrow).toBeFunction();
});

test('an option that is undefined counts as left out, also with exactOptionalPropertyTypes', () => {
  const [text, count]: [string | undefined, number | undefined] = [undefined, undefined];
  const plan: PlanLimits = { requestsPerMinute: 5_000, requestsPerDay: count };
  const recording: RecordOptions = { latest: count };
  const sandbox: SandboxOptions = { seed: count, pets: [{ petId: 1, quantity: 3, status: text }] };
  const limitHeaders: LimitHeaders = { rate: count, lagMs: count, omit: undefined, rounding: undefined };
  const counting: Counting = { at: undefined, refused: undefined, uncounted: undefined };
  const redirect: DomainRedirect = { from: 'old.example', to: 'shop.example', status: count };
  const fault: Fault = { times: count, body: text };
  const served: ServeSandboxOptions = { port: count, db: text };
  expectTypeOf([plan, recording, sandbox, limitHeaders, counting, redirect, fault, served]).toBeArray();
  expectTypeOf(new JournalError('Cannot write', { code: text }).code).toEqualTypeOf<string | undefined>();
  expectTypeOf<{ reason: 'schema'; problems: undefined }>().toExtend<ConstructorParameters<typeof InvalidResponseError>[1]>();
});

test('a wrapper of a PetStoreApi or a Journal may pass on a field that the other one lacks', () => {
  expectTypeOf<{ quota: Quota | undefined; baseUrl: string | undefined }>().toExtend<Pick<PetStoreApi, 'quota' | 'baseUrl'>>();
  expectTypeOf<{ name: string | undefined }>().toExtend<Pick<Journal, 'name'>>();
});
