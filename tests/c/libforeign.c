/* Helper of foreign. */
int cublasCreate_v2(int x) { return 1000 + x; }
int cudnnCreate(int x) { return 2000 + x; }
int curl_easy_init(int x) { return 3000 + x; }
int cuNotOurs(int x) { return 4000 + x; }
int cudaNotOurs(int x) { return 5000 + x; }
