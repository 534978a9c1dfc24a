// Each header by itself and in any standard that TensorRT's headers compile in.
#include TENON_HEADER

int main() {
  return 0;
}
