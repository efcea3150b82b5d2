/** Where the object store of the tests is, and who may do everything in it. */
export interface ObjectStoreLocation {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}
