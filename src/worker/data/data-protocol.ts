/** What crosses between the page and the worker that reads data files. Tables go on to the engine's worker. */
import type { Policy } from '../../engine/data/load-table.ts';
import type { DatasetReport } from '../../engine/data/report.ts';
import type { DataRow } from '../../engine/data/rows.ts';
import type { Mapping } from '../../engine/data/shapes/shapes.ts';
import type { NamedBlob } from '../../engine/model/blobs.ts';
import type { StoredData } from './data-store.ts';

/** How a file is read. */
export interface LoadChoice {
  /** Rows that are no good: left out, mended where that is known to work, or the end of the load. */
  policy: Policy;
  /** Which column is what; null: recognised. */
  mapping: Mapping | null;
}

export type DataCommand =
  /** Reads files, one after the other; archives are opened. */
  | { type: 'load-data'; job: string; files: NamedBlob[]; choice: LoadChoice }
  | { type: 'load-data-url'; job: string; url: string; choice: LoadChoice }
  /** Reads a data set again in another way; only while its file is known, which is until the page is left. */
  | { type: 'reload-data'; job: string; name: string; choice: LoadChoice }
  | { type: 'cancel-data'; job: string }
  | { type: 'list-data' }
  | { type: 'delete-data'; name: string }
  /** Asks for rows (`to` exclusive). */
  | { type: 'read-rows'; name: string; from: number; to: number };

export type DataEvent =
  /** `size` is −1 where nobody knows it. */
  | { type: 'data-progress'; job: string; name: string; read: number; size: number; rows: number }
  /** A file is a data set now. */
  | { type: 'dataset'; report: DatasetReport; choice: LoadChoice; kept: boolean }
  /** A file could not be taken as it was read; `report` has its columns, where it has rows. An error tells why. */
  | { type: 'data-refused'; name: string; message: string; choice: LoadChoice; report: DatasetReport | null }
  /** The job is at its end, however it ended. */
  | { type: 'data-done'; job: string }
  /** The data sets on disk, oldest first. */
  | { type: 'data-sets'; sets: StoredData[] }
  | { type: 'data-deleted'; name: string }
  | { type: 'data-rows'; name: string; from: number; rows: DataRow[]; total: number };

/** To the client of the worker only: what has no place on disk, or is there anew, is told to the engine. */
export type DataHandover = { type: 'data-table'; name: string; bytes: ArrayBuffer };
