import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Certificate {
  key: string;
  cert: string;
}

interface CertificateStart {
  host: string;
  /** Negative: it has expired. */
  days: number;
  /** Who signs it; by itself if left out. */
  by?: string;
}

/** Certificates made anew for each run, so that the repository holds no private key. */
export class Certificates implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(): Promise<Certificates> {
    return new Certificates(await mkdtemp(join(tmpdir(), 'petstore-certificates-')));
  }

  async make(name: string, { host, days, by = name }: CertificateStart): Promise<Certificate> {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
    await this.#openssl('req', '-new', ...key, '-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`, '-out', `${name}.csr`);
    const signing = by === name ? ['-signkey', `${name}.key`] : ['-CA', `${by}.crt`, '-CAkey', `${by}.key`, '-CAcreateserial'];
    await this.#openssl(
      ...['x509', '-req', '-in', `${name}.csr`, ...signing, '-days', String(days), '-copy_extensions', 'copy', '-out', `${name}.crt`],
    );
    return this.get(name);
  }

  /** An authority that no machine knows. */
  async makeAuthority(name: string): Promise<Certificate> {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
    await this.#openssl('req', '-x509', ...key, '-subj', `/CN=${name}`, '-days', '2', '-out', `${name}.crt`);
    return this.get(name);
  }

  async get(name: string): Promise<Certificate> {
    const [key = '', cert = ''] = await Promise.all(['key', 'crt'].map((kind) => readFile(join(this.#folder, `${name}.${kind}`), 'utf8')));
    return { key, cert };
  }

  /** Where its certificate is, as NODE_EXTRA_CA_CERTS takes it. */
  pathOf(name: string): string {
    return join(this.#folder, `${name}.crt`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true });
  }

  async #openssl(...args: string[]): Promise<void> {
    await promisify(execFile)('openssl', args, { cwd: this.#folder });
  }
}
