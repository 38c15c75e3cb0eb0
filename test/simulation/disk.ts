import { resolve } from 'node:path';
import type { Owner, VirtualTime } from '../worlds/virtual-time.ts';

/** What of `node:fs/promises` a journal in a file uses. */
export interface FileSystem {
  open(path: string, flags?: number): Promise<FileHandle>;
  stat(path: string): Promise<{ size: number; isFile(): boolean }>;
}

interface FileHandle {
  stat(): Promise<{ size: number; isFile(): boolean }>;
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ bytesRead: number; buffer: Buffer }>;
  appendFile(text: string): Promise<void>;
  sync(): Promise<void>;
  datasync(): Promise<void>;
  close(): Promise<void>;
}

interface File {
  /** What every process reads. */
  bytes: Buffer;
  /** How many of them a loss of power leaves. */
  safe: number;
  /** Whether its name is on the disk, too. */
  isNamed: boolean;
}

interface Write {
  readonly owner: Owner;
  readonly file: File;
  readonly text: string;
}

/** How a disk behaves. */
export interface DiskSettings {
  /** Milliseconds of a write, and of a flush. */
  readonly writeMs: number;
  readonly flushMs: number;
  /** From when to when there is no room, by the time of the world. */
  readonly full: { readonly fromMs: number; readonly toMs: number } | undefined;
}

/** What a process is on its disk: nothing that a dead one began goes on. */
export interface DiskUser {
  readonly owner: Owner;
  /** Called before each step; where it does not resolve, the process is gone. */
  readonly step: (what: string) => Promise<void>;
}

/** The disk of one machine. It outlives the processes; what was not flushed is lost with the power. */
export class Disk {
  // By absolute path.
  readonly #files = new Map<string, File>();
  readonly #writing = new Set<Write>();
  readonly #handles = new Map<Owner, number>();
  readonly #time: VirtualTime;
  readonly #settings: DiskSettings;
  readonly #random: () => number;

  constructor(time: VirtualTime, settings: DiskSettings, random: () => number) {
    this.#time = time;
    this.#settings = settings;
    this.#random = random;
  }

  /** The power fails: of what was not flushed any part may be there, cut anywhere. */
  losePower(): void {
    for (const [path, file] of this.#files) {
      if (!file.isNamed && this.#random() < 0.5) this.#files.delete(path);
      const kept = file.safe + Math.floor((file.bytes.length - file.safe) * this.#random());
      file.bytes = file.bytes.subarray(0, kept);
      file.safe = kept;
      file.isNamed = true;
    }
  }

  /** A process died: of a write that it had begun, a part may be in the file. */
  lose(owner: Owner): void {
    for (const write of this.#writing) {
      if (write.owner !== owner) continue;
      this.#writing.delete(write);
      this.#add(write.file, write.text, this.#random());
    }
  }

  /** How many files a process has open. */
  openFilesOf(owner: Owner): number {
    return this.#handles.get(owner) ?? 0;
  }

  textOf(path: string): string {
    return this.#files.get(resolve(path))?.bytes.toString() ?? '';
  }

  /** The disk as a process sees it. */
  filesFor(user: DiskUser): FileSystem {
    return {
      open: (path) => (path === '.' ? this.#folder(user) : this.#open(path, user)),
      stat: async (path) => {
        await this.#spend(user, 'stat', 0);
        if (path === '.') return { size: 0, isFile: () => false };
        const file = this.#files.get(resolve(path));
        if (!file) throw systemError('ENOENT', `no such file or directory, stat '${path}'`);
        return { size: file.bytes.length, isFile: () => true };
      },
    };
  }

  async #open(path: string, user: DiskUser): Promise<FileHandle> {
    await this.#spend(user, 'open', this.#settings.writeMs);
    const file = this.#files.get(resolve(path)) ?? { bytes: Buffer.alloc(0), safe: 0, isNamed: false };
    this.#files.set(resolve(path), file);
    const count = (more: number) => this.#handles.set(user.owner, this.openFilesOf(user.owner) + more);
    count(1);
    return {
      stat: async () => ({ size: file.bytes.length, isFile: () => true }),
      read: async (buffer, offset, length, position) => {
        await this.#spend(user, 'read', 0);
        return { bytesRead: file.bytes.copy(buffer, offset, position, position + length), buffer };
      },
      appendFile: (text) => this.#append(file, text, { user, path }),
      sync: () => this.#flush(file, user),
      datasync: () => this.#flush(file, user),
      close: async () => {
        await this.#spend(user, 'close', 0);
        count(-1);
      },
    };
  }

  async #append(file: File, text: string, { user, path }: { user: DiskUser; path: string }): Promise<void> {
    const write = { owner: user.owner, file, text };
    this.#writing.add(write);
    await this.#spend(user, `write ${path}`, this.#settings.writeMs);
    this.#writing.delete(write);
    this.#add(file, text, this.#isFull ? this.#random() : 1);
    if (this.#isFull) throw systemError('ENOSPC', 'no space left on device, write');
  }

  #add(file: File, text: string, part: number): void {
    const bytes = Buffer.from(text);
    file.bytes = Buffer.concat([file.bytes, bytes.subarray(0, Math.floor(bytes.length * part))]);
  }

  async #flush(file: File, user: DiskUser): Promise<void> {
    const { length } = file.bytes;
    await this.#spend(user, 'flush', this.#settings.flushMs);
    file.safe = Math.max(file.safe, length);
  }

  async #folder(user: DiskUser): Promise<FileHandle> {
    const refuse = async () => {
      throw systemError('EISDIR', 'illegal operation on a directory');
    };
    const sync = async () => {
      await this.#spend(user, 'flush folder', this.#settings.flushMs);
      for (const file of this.#files.values()) file.isNamed = true;
    };
    return { stat: refuse, read: refuse, appendFile: refuse, sync, datasync: sync, close: async () => {} };
  }

  get #isFull(): boolean {
    const { full } = this.#settings;
    return full !== undefined && this.#time.nowMs >= full.fromMs && this.#time.nowMs < full.toMs;
  }

  async #spend({ owner, step }: DiskUser, what: string, ms: number): Promise<void> {
    await step(what);
    if (ms > 0) await this.#time.wait(Math.ceil(ms * (0.5 + this.#random())), owner);
    if (!owner.isAlive) await new Promise(() => {});
  }
}

function systemError(code: string, message: string): Error {
  return Object.assign(new Error(`${code}: ${message}`), { code });
}
