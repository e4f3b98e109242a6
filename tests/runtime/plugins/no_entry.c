/* A library that is no plugin. */
int attn_backend_count(void);
int attn_backend_count(void) {
  return 0;
}
