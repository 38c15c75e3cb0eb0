import { notAClient } from '../api.ts';
import type { PetStoreClient } from '../client.ts';
import type { Int64 } from '../contract/models.ts';
import { duration } from '../duration.ts';
import type { PetStoreError } from '../errors.ts';
import { hidingKey, redactorOf } from '../hiding-key.ts';
import { fetchUsesProxies, type NamedProxy, proxyFor } from '../options/proxy.ts';
import { checkNames, hasMethods, signalOption } from '../options/rules.ts';
import { isProxyCode } from '../proxy-codes.ts';
import type { TextCleaner } from '../redactor.ts';
import { adviceFor, judgeAnswer, judgeClock, judgeLimits, judgePlan } from './check/answer.ts';
import { type Asked, askOnce } from './check/ask.ts';
import { asNote, type Finding, GUIDES, isProblem } from './check/finding.ts';
import { checkScheme } from './check/tls.ts';
import { checkWay } from './check/way.ts';

/**
 * The result of {@link checkService}.
 *
 * @example
 * const check: ServiceCheck = await checkService(petstore);
 * console.log(check.isWell, check.findings.length > 5); // → true true
 */
export interface ServiceCheck {
  /** The address that was checked, without the key. */
  address: string;
  /** False if a finding is a problem. */
  isWell: boolean;
  /** The findings, in the order of the steps of a request. */
  findings: Finding[];
}

/**
 * Checks everything between a client and the service: proxy, DNS, connection, certificate, answer, X-RateLimit headers, plan, clock
 * and the state of the quota. It sends at most one request, a list of which it only reads the beginning, and does not wait for quota.
 * @throws InvalidArgumentError for a value that is not a client; ConfigurationError that names the option; the signal's reason. Problems
 *   are findings.
 * @example
 * const { isWell, findings } = await checkService(petstore);
 * for (const { outcome, message, advice } of findings) if (outcome === 'problem') console.error(message, advice);
 * console.log(isWell); // → true
 */
export async function checkService<Ids extends Int64>(
  client: PetStoreClient<Ids>,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<ServiceCheck> {
  if (!hasMethods(client, ['on', 'fetch', 'toJSON']) || typeof client.baseUrl !== 'string')
    throw notAClient(client, 'on(), fetch(), toJSON() and baseUrl');
  const signal = hidingKey(client, () => {
    checkNames(options, ['signal']);
    return signalOption(options.signal);
  });
  return checkClient(client, { signal, usesProxies: fetchUsesProxies() });
}

interface ClientCheck {
  signal?: AbortSignal | undefined;
  /** Whether the client's requests go through the proxies that the environment variables name. */
  usesProxies: boolean;
  /** Whether the service is inside this process, so that there is no connection to check. */
  isInside?: boolean | undefined;
}

/** Like `checkService`, for a client of which more is known. */
export async function checkClient<Ids extends Int64>(
  client: PetStoreClient<Ids>,
  { signal, usesProxies, isInside }: ClientCheck,
): Promise<ServiceCheck> {
  // As it is shown: the key may be part of it.
  const { baseUrl: address } = client.toJSON();
  const url = new URL(client.baseUrl);
  const proxy = proxyFor(url);
  const way = isInside ? [] : [checkProxy(proxy, usesProxies), ...(await checkWay(url, usesProxies ? proxy : undefined))];
  signal?.throwIfAborted();
  const asked = await askOnce(client, signal);
  const findings = [checkAddress(address), checkState(client, asked), ...judgeWay(way, asked)];
  const judged = await judge(asked, client);
  findings.push(...(findings.some(isProblem) ? judged.map(asExplained) : judged));
  return { address, isWell: !findings.some(isProblem), findings };
}

function checkAddress(address: string): Finding {
  const how = address.startsWith('https:') ? 'https' : 'plain http to this machine';
  return { check: 'address', outcome: 'ok', message: `${address}: ${how}, ends in /v1`, facts: { address } };
}

function checkState<Ids extends Int64>({ quota }: PetStoreClient<Ids>, asked: Asked): Finding {
  const closedUntil = asked.kind === 'waits' ? asked.until : quota.closedUntil;
  const leftMs = (closedUntil?.getTime() ?? 0) - Date.now();
  if (!closedUntil || leftMs <= 0) return { check: 'state', outcome: 'ok', message: 'nothing to wait for' };
  const message = `nothing is sent until ${closedUntil.toISOString()}, in ${duration(leftMs)}`;
  const advice = 'wait until then; `petstore quota` shows what is left';
  return { check: 'state', outcome: 'problem', message, advice, see: GUIDES.quota, facts: { closedUntil } };
}

function checkProxy(proxy: NamedProxy | undefined, isUsed: boolean): Finding {
  if (!proxy) return { check: 'proxy', outcome: 'ok', message: 'none: requests go directly to the service' };
  const { variable, shown } = proxy;
  const facts = { variable, proxy: shown, isUsed };
  if (isUsed) return { check: 'proxy', outcome: 'ok', message: `${shown}, which ${variable} names`, facts };
  const message = `${variable} names ${shown}, but Node's fetch does not use it`;
  const advice = 'set NODE_USE_ENV_PROXY=1 before Node starts, if requests need it';
  return { check: 'proxy', outcome: 'note', message, advice, see: GUIDES.proxy, facts };
}

/** Judges the connection by the client's own request. If the process may not connect, the problems of the steps are left out. */
function judgeWay(way: readonly Finding[], asked: Asked): readonly Finding[] {
  if (asked.kind === 'answered') return way.map(asPassed);
  const option = asked.kind === 'failed' && asked.error.kind === 'configuration' && asked.error.option;
  return option === 'baseUrl' ? way.filter((finding) => !isProblem(finding)) : way;
}

/** Makes a problem of the check's own connection a note, if the client's `fetch`, which may take another route, got an answer. */
function asPassed(finding: Finding): Finding {
  return isProblem(finding) ? asNote(finding, `${finding.message}; but the client's own \`fetch\` got an answer`) : finding;
}

/** Makes a note of a failed request or a 429 whose cause is a problem of an earlier step, so that one cause is one problem. */
function asExplained(finding: Finding): Finding {
  const { check, message, facts } = finding;
  const isSame = check === 'answer' && (facts?.status ?? 429) === 429;
  return isProblem(finding) && isSame ? asNote(finding, message) : finding;
}

function adviceWithoutAnswer({ kind, code = '' }: PetStoreError, { protocol }: URL): Pick<Finding, 'advice' | 'see'> {
  if (kind === 'configuration') return {};
  if (kind === 'timeout') return { advice: 'check the port of the address, or try again later', see: GUIDES.timeout };
  if (isProxyCode(code)) return { see: GUIDES.proxy };
  if (protocol === 'http:') return { advice: checkScheme(protocol), see: GUIDES.connection };
  // The check's own handshake has succeeded.
  if (code.endsWith('NO_APPLICATION_PROTOCOL')) return { advice: 'it takes only HTTP/2: use `undiciFetch`, or Node 26', see: GUIDES.http2 };
  // In TLS 1.3, a server refuses a client only after the client's side of the handshake.
  const isMaybeRefused = /^ECONNRESET$|^UND_ERR_SOCKET$|CERTIFICATE/.test(code);
  return isMaybeRefused
    ? { advice: 'if the service wants a client certificate, give it to `undiciFetch`', see: GUIDES.clientCertificate }
    : { see: GUIDES.connection };
}

/** For the client of an older copy of the package, which does not give its redactor. */
const HIDES_ALL: TextCleaner = { clean: () => '***' };

async function judge<Ids extends Int64>(asked: Asked, client: PetStoreClient<Ids>): Promise<Finding[]> {
  if (asked.kind === 'waits')
    return [{ check: 'answer', outcome: 'note', message: `no request was sent: it would have to wait (${asked.reason})` }];
  if (asked.kind === 'failed') {
    const { message, code, status } = asked.error;
    const advice = status === undefined ? adviceWithoutAnswer(asked.error, new URL(client.baseUrl)) : adviceFor(status, true);
    return [{ check: 'answer', outcome: 'problem', message, ...advice, facts: { code, status } }];
  }
  const { response, receivedAtMs } = asked;
  const redactor = redactorOf.get(client) ?? HIDES_ALL;
  const answer = await judgeAnswer(response, { address: client.baseUrl, receivedAtMs, redactor });
  const { plan } = client.toJSON();
  // The headers of another server do not report the limits.
  if (answer.outcome === 'problem' && response.status !== 401 && response.status !== 429)
    return [answer, judgeClock(response, receivedAtMs)];
  return [
    answer,
    judgeLimits(response, { plan, receivedAtMs, redactor }),
    judgePlan(response.headers, plan),
    judgeClock(response, receivedAtMs),
  ];
}
